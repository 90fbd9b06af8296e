// What `ring-dump TARGET` names: an attach socket, a process, or a file.
//
//   auto found = find_segments("/run/rdma-engine/attach.sock", std::nullopt);
//   if (!found) return found.error();
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "dump/image.h"

namespace rde::tools {

enum class TargetKind { socket, process, file };
std::string_view name_of(TargetKind kind);

struct Segments {
  TargetKind kind = TargetKind::file;
  std::vector<SegmentSource> sources;
  std::vector<std::string> notes;  // segments that are there and could not be opened, and why
};

// All digits: the process with that id; else a path. `client` keeps the one segment with that client number where the
// target is a socket. Errors name the target and what to give instead; segment_not_ready: the engine did not answer.
Result<Segments> find_segments(const std::string& target, std::optional<std::uint64_t> client);

}  // namespace rde::tools
