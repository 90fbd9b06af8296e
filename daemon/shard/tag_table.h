// The operations of one channel by the client's tag: open addressing, a fixed capacity, no allocation after the start.
// Owner thread only.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace rde {

class Operation;

class TagTable {
 public:
  // Room for `most` tags.
  explicit TagTable(std::uint32_t most) : slots_(std::bit_ceil(std::size_t{most} * 2)), mask_(slots_.size() - 1) {}

  [[nodiscard]] Operation* find(std::uint64_t tag) const {
    for (std::size_t at = home(tag); slots_[at].operation != nullptr; at = (at + 1) & mask_) {
      if (slots_[at].tag == tag) return slots_[at].operation;
    }
    return nullptr;
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

  [[nodiscard]] std::size_t home(std::uint64_t tag) const {
    // Tags are the client's choice: without mixing, it could choose them to collide.
    std::uint64_t mixed = (tag ^ (tag >> 32)) * 0x9E3779B97F4A7C15U;
    return static_cast<std::size_t>(mixed >> 20) & mask_;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace rde
