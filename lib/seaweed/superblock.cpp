#include "seaweed/superblock.h"

#include "seaweed/big_endian.h"

namespace rde {

Result<Superblock> parse_superblock(std::span<const std::byte> bytes) {
  if (bytes.size() < Superblock::kBytes) {
    return Error{Status::volume_corrupt, "superblock: the file has " + std::to_string(bytes.size()) +
                                             " bytes instead of at least 8; it is not a volume, or not yet one"};
  }
  Superblock block;
  block.version = get_big_endian<std::uint8_t>(bytes, 0);
  block.replica_placement = get_big_endian<std::uint8_t>(bytes, 1);
  block.ttl = {get_big_endian<std::uint8_t>(bytes, 2), get_big_endian<std::uint8_t>(bytes, 3)};
  block.compaction_revision = get_big_endian<std::uint16_t>(bytes, 4);
  block.extra_size = get_big_endian<std::uint16_t>(bytes, 6);
  if (block.version < 1 || block.version > 3) {
    return Error{Status::volume_corrupt, "superblock: version " + std::to_string(block.version) +
                                             " is not 1 to 3; restore the volume from a replica"};
  }
  return block;
}

}  // namespace rde
