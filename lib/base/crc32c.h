// CRC-32C (Castagnoli), as SeaweedFS stores it and as completions carry it.
//
//   std::uint32_t crc = crc32c(first);
//   crc = crc32c(second, crc);                              // of both, in order
//   crc = crc32c_combine(crc32c(a), crc32c(b), b.size());   // of a then b, from their own CRCs
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rde {

// CRC of what `before` covers, followed by `bytes`. Any thread.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

// CRC of a first part with CRC `first`, followed by a second part of `second_length` bytes with CRC `second`.
std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_length);

}  // namespace rde
