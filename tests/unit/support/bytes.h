// Bytes against bytes, as fast in a build that instruments every access as in any other.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace rde::test {

inline bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace rde::test
