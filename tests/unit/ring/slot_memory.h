// Memory of a ring, outside of any segment, that looks as if its writer had come to a position.
//
//   SlotMemory<rde_request> memory(64, start);
//   RingWriter<rde_request> writer(memory.slots(), 64, start);
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/atomic.h"
#include "ring/position.h"

namespace rde::test {

template <class Slot>
class SlotMemory {
 public:
  explicit SlotMemory(std::uint32_t count, std::uint64_t start = 0) : words_(count * kWords) {
    if (start == 0) return;
    const RingShape shape(count);
    for (std::uint64_t position = start - count; position != start; ++position) {
      words_[shape.slot_of(position) * kWords] = shape.lap_of(position);
    }
  }

  Slot* slots() { return reinterpret_cast<Slot*>(words_.data()); }
  // A word of a slot, as a hostile writer would change it.
  std::uint64_t* word(std::uint32_t slot, std::size_t word) { return &words_[slot * kWords + word]; }

  static constexpr std::size_t kWords = sizeof(Slot) / sizeof(std::uint64_t);

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace rde::test
