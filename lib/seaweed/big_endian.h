// Big-endian numbers, as SeaweedFS writes them.
//
//   std::uint64_t key = rde::get_big_endian<std::uint64_t>(entry, 0);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rde {

// The `Bytes` bytes at `offset`, as a T. The caller has checked that they lie in `from`.
template <class T, std::size_t Bytes = sizeof(T)>
constexpr T get_big_endian(std::span<const std::byte> from, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < Bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(from[offset + i]);
  return static_cast<T>(value);
}

}  // namespace rde
