// The first bytes of a .dat file.
//
//   auto block = rde::parse_superblock(first_bytes);
//   if (block && block->version == 3) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "seaweed/ttl.h"

namespace rde {

struct Superblock {
  static constexpr std::size_t kBytes = 8;  // what parse_superblock reads; extra_size bytes follow

  std::uint8_t version = 0;  // 1 to 3
  std::uint8_t replica_placement = 0;
  Ttl ttl;
  std::uint16_t compaction_revision = 0;
  std::uint16_t extra_size = 0;
};

// Errors (volume_corrupt): fewer than kBytes bytes, a version that is not 1 to 3. Any thread.
Result<Superblock> parse_superblock(std::span<const std::byte> bytes);

}  // namespace rde
