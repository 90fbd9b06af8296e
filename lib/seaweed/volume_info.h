// The .vif file beside a volume: a JSON object.
//
//   auto info = rde::parse_volume_info(text);
//   if (info && info->is_remote) ...   // the .dat lies in a remote tier
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace rde {

// What readers need of it. expireAtSec is left out: it counts from the making of the volume, not of its objects.
struct VolumeInfo {
  std::uint32_t version = 0;      // of the records; 0 = see the superblock
  std::uint8_t offset_bytes = 4;  // 4 or 5: of an offset in the index
  bool is_remote = false;
};

constexpr std::size_t kMaxVolumeInfo = std::size_t{1} << 20;  // bytes

// Fields that are absent keep their defaults, and so does everything where `text` is empty; numbers may be
// written as strings. Errors (volume_corrupt) name the field and its value. Any thread.
Result<VolumeInfo> parse_volume_info(std::string_view text);

}  // namespace rde
