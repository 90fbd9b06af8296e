// Positions, slots and laps of a ring (docs/rings.md). All arithmetic is unsigned and right at every wrap.
//
//   constexpr RingShape shape(64);
//   shape.slot_of(70) == 6; shape.lap_of(70) == 2
#pragma once

#include <bit>
#include <cstdint>

namespace rde {

class RingShape {
 public:
  // `slots` is a power of two.
  explicit constexpr RingShape(std::uint32_t slots)
      : mask_(slots - 1), shift_(static_cast<std::uint32_t>(std::countr_zero(slots))) {}

  [[nodiscard]] constexpr std::uint32_t slots() const { return mask_ + 1; }
  [[nodiscard]] constexpr std::uint32_t slot_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>(position) & mask_;
  }
  [[nodiscard]] constexpr std::uint32_t lap_of(std::uint64_t position) const {
    return static_cast<std::uint32_t>((position >> shift_) + 1);
  }

 private:
  std::uint32_t mask_;
  std::uint32_t shift_;
};

}  // namespace rde
