// Where everything of a segment goes, from what was asked for.
//
//   auto plan = plan_segment({.total_size = 64 << 20, .channels = 8, .depth = 64, .shards = 1});
//   if (!plan) refuse(plan.error());
#pragma once

#include <cstdint>

#include "base/status.h"
#include "rde_layout.h"

namespace rde {

struct SegmentRequest {
  std::uint64_t total_size = RDE_DEFAULT_SEGMENT;  // bytes; rounded up to whole backing pages
  std::uint32_t page_size = 4096;                  // 4096 or 2 MiB
  std::uint32_t channels = 1;                      // 1 to RDE_MAX_CHANNELS
  std::uint32_t depth = 64;                        // RDE_MIN_DEPTH to RDE_MAX_DEPTH, a power of two
  std::uint32_t shards = 1;                        // 1 to RDE_MAX_SHARDS
  std::uint32_t counters = 64;                     // at most 65536
  std::uint32_t recorder_events = 256;             // a power of two, at most 65536
  std::uint64_t client_number = 0;                 // chooses the colour
};

// The offset table (and nothing else) of a header. Errors name the field that does not fit, and by how much.
Result<rde_segment_header> plan_segment(const SegmentRequest& request);

// Whether a header, copied from a segment of `mapped_size` bytes, can be trusted: magic, versions, hash, CRC, sizes,
// and that no part leaves the segment or overlaps the next. Errors: version_mismatch (naming both sides),
// segment_not_ready, segment_invalid (naming the field).
Result<void> check_header(const rde_segment_header& header, std::uint64_t mapped_size);

}  // namespace rde
