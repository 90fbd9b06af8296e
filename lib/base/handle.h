// A handle names an entry of a table: index in the low 32 bits, generation in the high 32. The
// generation is never 0, so 0 names nothing, and changes when an entry is used again.
#pragma once

#include <cstdint>

namespace rde {

struct Handle {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;

  static Handle from(std::uint64_t value) {
    return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  }
  [[nodiscard]] std::uint64_t value() const { return std::uint64_t{generation} << 32 | index; }
  [[nodiscard]] bool is_null() const { return generation == 0; }
  bool operator==(const Handle&) const = default;
};

}  // namespace rde
