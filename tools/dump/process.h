// Segments that a process holds, found through its proc entry. Works without the help of either side, so also after
// one of them has crashed or hangs.
//
//   auto found = find_in_process(4711);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dump/image.h"

namespace rde::tools {

struct ProcessSegments {
  std::vector<SegmentSource> sources;  // each segment once, whether held by descriptor, by mapping or both
  std::vector<std::string> notes;      // those that could not be opened, and why
};

// Errors: system_error (no such process, or not allowed to look into it).
Result<ProcessSegments> find_in_process(std::uint32_t pid);

// A run of mappings of one segment file, from the text of /proc/PID/maps.
struct MappedSegment {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t inode = 0;
  std::string range;  // name of its first entry in map_files
};
std::vector<MappedSegment> parse_maps(std::string_view maps);

}  // namespace rde::tools
