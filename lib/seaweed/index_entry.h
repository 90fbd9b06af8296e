// Entries of an .idx file.
//
//   for (; bytes.size() >= entry_size; bytes = bytes.subspan(entry_size)) use(rde::parse_index_entry(bytes, 4));
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "seaweed/big_endian.h"

namespace rde {

struct IndexEntry {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  // of the record in the .dat, in bytes; a multiple of 8, below 2^43
  std::int32_t size = 0;     // of the record's body

  // An entry with offset 0, or with a negative size, says that the key is gone. Size 0 with an offset
  // is an empty object.
  [[nodiscard]] bool is_deleted() const { return offset == 0 || size < 0; }

  bool operator==(const IndexEntry&) const = default;
};

constexpr std::size_t kMaxIndexEntry = 17;

// Bytes of an entry; `offset_bytes` is 4 or 5.
constexpr std::size_t index_entry_size(unsigned offset_bytes) { return 12 + offset_bytes; }

// The first entry of `bytes`, which has at least index_entry_size(offset_bytes) bytes. Any thread.
inline IndexEntry parse_index_entry(std::span<const std::byte> bytes, unsigned offset_bytes) {
  std::uint64_t units = get_big_endian<std::uint32_t>(bytes, 8);
  if (offset_bytes == 5) units |= std::uint64_t{get_big_endian<std::uint8_t>(bytes, 12)} << 32;
  return {get_big_endian<std::uint64_t>(bytes, 0), units * 8,
          static_cast<std::int32_t>(get_big_endian<std::uint32_t>(bytes, 8 + offset_bytes))};
}

}  // namespace rde
