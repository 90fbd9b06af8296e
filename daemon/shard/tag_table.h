// The operations of one channel by the client's tag: open addressing, a fixed capacity, no allocation after the start.
// Owner thread only.
//
//   TagTable table(320, tag_seed());
//   table.insert(tag, operation);
//   if (Operation* running = table.find(tag)) …
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace rde {

class Operation;

// A number that no client can know, one for the life of the process.
std::uint64_t tag_seed();

class TagTable {
 public:
  // Room for `most` tags.
  TagTable(std::uint32_t most, std::uint64_t seed)
      : slots_(std::bit_ceil(std::size_t{most} * 2)), mask_(slots_.size() - 1), seed_(seed) {}

  [[nodiscard]] Operation* find(std::uint64_t tag) const {
    for (std::size_t at = home(tag); slots_[at].operation != nullptr; at = (at + 1) & mask_) {
      if (slots_[at].tag == tag) return slots_[at].operation;
    }
    return nullptr;
  }

  // Where a tag goes, before it is cut to the size of the table. Tags are the client's choice: where it knew their
  // places, it could make every look-up a long walk. The mixer is that of MurmurHash3.
  static std::uint64_t mix(std::uint64_t tag, std::uint64_t seed) {
    std::uint64_t x = tag ^ seed;
    x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
    x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
    return x ^ (x >> 33);
  }

  // `visit` must not insert or erase.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& slot : slots_) {
      if (slot.operation != nullptr) visit(*slot.operation);
    }
  }

  void insert(std::uint64_t tag, Operation* operation) {
    std::size_t at = home(tag);
    while (slots_[at].operation != nullptr) at = (at + 1) & mask_;
    slots_[at] = {tag, operation};
  }

  void erase(std::uint64_t tag) {
    std::size_t at = home(tag);
    while (slots_[at].operation != nullptr && slots_[at].tag != tag) at = (at + 1) & mask_;
    if (slots_[at].operation == nullptr) return;
    // Whatever was pushed behind this slot moves up, so that every probe still ends at an empty slot.
    std::size_t hole = at;
    for (std::size_t next = (at + 1) & mask_; slots_[next].operation != nullptr; next = (next + 1) & mask_) {
      if (((next - home(slots_[next].tag)) & mask_) >= ((next - hole) & mask_)) {
        slots_[hole] = slots_[next];
        hole = next;
      }
    }
    slots_[hole] = {};
  }

 private:
  struct Slot {
    std::uint64_t tag = 0;
    Operation* operation = nullptr;
  };

  [[nodiscard]] std::size_t home(std::uint64_t tag) const { return static_cast<std::size_t>(mix(tag, seed_)) & mask_; }

  std::vector<Slot> slots_;
  std::size_t mask_;
  std::uint64_t seed_;
};

}  // namespace rde
