// The two ends of a single-producer, single-consumer ring whose slots carry their own lap number.
//
//   RingWriter<rde_request> writer(slots, 64);
//   writer.write(request);                       // the other side, same memory:
//   RingReader<rde_request> reader(slots, 64);
//   rde_request copy;
//   while (reader.read(copy)) handle(copy);
//
// One thread uses an end. Neither end knows how full the ring is: the credits of docs/rings.md keep the
// writer from overtaking the reader. The memory may be written by a hostile process at any time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/atomic.h"
#include "ring/position.h"
#include "ring/slot_words.h"

namespace rde {

namespace detail {

// Slots move as whole words, each loaded or stored exactly once, so that a value that was checked is
// the value that is used. Word 0 holds the lap in its low half and is published last.
template <class Slot>
std::uint64_t* words_of(Slot* slot) {
  static_assert(std::endian::native == std::endian::little, "the layout is little-endian");
  static_assert(sizeof(Slot) % sizeof(std::uint64_t) == 0 && offsetof(Slot, lap) == 0);
  return reinterpret_cast<std::uint64_t*>(slot);
}

// Unrolled, whatever the compiler thinks of a loop: then words stay in registers.
template <class Slot, class Visit>
void for_each_word_behind_lap(Visit visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) { (visit(I + 1), ...); }
  (std::make_index_sequence<kSlotWords<Slot> - 1>{});
}

}  // namespace detail

template <class Slot>
class RingWriter {
 public:
  RingWriter(Slot* slots, std::uint32_t count, std::uint64_t start = 0)
      : slots_(slots), shape_(count), position_(start), ahead_(std::min(kAhead, count / 2)) {}

  // Publishes a slot; `slot.lap` is ignored. Never blocks.
  void write(const Slot& slot) {
    std::uint64_t* to = detail::words_of(&slots_[shape_.slot_of(position_)]);
    std::uint64_t from[kSlotWords<Slot>];
    pack(slot, from);
    detail::for_each_word_behind_lap<Slot>([&](std::size_t i) { store_relaxed(&to[i], from[i]); });
    // SYNC POINT ring: pairs with the acquire in RingReader::read; the words above are visible first.
    store_release(&to[0], from[0] | shape_.lap_of(position_));
    ++position_;
  }

  // For a writer that has more to write soon: asks for the line of a slot some way ahead. Its reader is done with it,
  // but that one's processor still has the line. Where one slot is written at a time this only costs.
  void prepare() const { prefetch_to_write(&slots_[shape_.slot_of(position_ + ahead_)]); }

  // Positions written so far; the next write goes there.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  static constexpr std::uint32_t kAhead = 256 / sizeof(Slot);  // slots: four lines

  Slot* slots_;
  RingShape shape_;
  std::uint64_t position_;
  std::uint32_t ahead_;
};

template <class Slot>
class RingReader {
 public:
  RingReader(Slot* slots, std::uint32_t count, std::uint64_t start = 0)
      : slots_(slots), shape_(count), position_(start) {}

  // Copies the next slot; false when it is not there yet.
  bool read(Slot& slot) {
    const std::uint64_t* from = detail::words_of(&slots_[shape_.slot_of(position_)]);
    std::uint64_t copy[kSlotWords<Slot>];
    // SYNC POINT ring: pairs with the release in RingWriter::write.
    copy[0] = load_acquire(&from[0]);
    if (static_cast<std::uint32_t>(copy[0]) != shape_.lap_of(position_)) return false;
    detail::for_each_word_behind_lap<Slot>([&](std::size_t i) { copy[i] = load_relaxed(&from[i]); });
    unpack(copy, slot);
    ++position_;
    return true;
  }

  // Whether read() would succeed.
  [[nodiscard]] bool ready() const {
    const std::uint64_t first = load_acquire(detail::words_of(&slots_[shape_.slot_of(position_)]));
    return static_cast<std::uint32_t>(first) == shape_.lap_of(position_);
  }

  // Brings the slot after the next one near.
  void prefetch() const { __builtin_prefetch(&slots_[shape_.slot_of(position_ + 1)]); }

  // Positions read so far.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  Slot* slots_;
  RingShape shape_;
  std::uint64_t position_;
};

}  // namespace rde
