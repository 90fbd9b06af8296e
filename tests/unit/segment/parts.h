// Whether the offset table of a header keeps its promises, worked out without the code under test.
#pragma once

#include <cstdint>
#include <string>

#include "rde_layout.h"

namespace rde::test {

// The first part that is misaligned, overlaps the one before, or leaves the segment; empty when all is well.
inline std::string fault_of_parts(const rde_segment_header& header) {
  const std::uint64_t channel = sizeof(rde_channel_lines) + std::uint64_t{header.depth} * sizeof(rde_request) +
                                std::uint64_t{header.completion_depth} * sizeof(rde_completion);
  if (header.channel_stride < channel || header.channel_stride % 64 != 0) return "channel_stride";
  const struct {
    const char* name;
    std::uint64_t offset;
    std::uint64_t size;
    std::uint64_t alignment;
  } parts[] = {
      {"header", 0, sizeof header, 64},
      {"engine_page", header.engine_page_offset, sizeof(rde_engine_page), 64},
      {"client_page", header.client_page_offset, sizeof(rde_client_page), 64},
      {"doorbells", header.doorbells_offset, (std::uint64_t{header.shard_count} + 1) * sizeof(rde_doorbell), 64},
      {"channels", header.channels_offset, header.channel_stride * header.channel_count, 64},
      {"counters", header.counters_offset, std::uint64_t{header.counter_count} * sizeof(rde_counter), 64},
      {"recorder", header.recorder_offset,
       sizeof(rde_recorder_head) + std::uint64_t{header.recorder_events} * sizeof(rde_recorder_event), 64},
      {"arena", header.arena_offset, header.arena_size, RDE_ARENA_PAGE},
  };
  std::uint64_t end = 0;
  for (const auto& part : parts) {
    if (part.offset < end || part.offset % part.alignment != 0) return part.name;
    if (part.offset > header.total_size || part.size > header.total_size - part.offset) return part.name;
    end = part.offset + part.size;
  }
  return end == header.total_size ? "" : "arena end";
}

}  // namespace rde::test
