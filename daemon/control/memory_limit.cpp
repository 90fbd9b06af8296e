#include "control/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace rde {
namespace {

namespace fs = std::filesystem;

// The least limit in the files of this name, from a group up to the root of its hierarchy.
std::uint64_t least_of(const fs::path& hierarchy, const std::string& group, const char* file, std::uint64_t limit) {
  for (auto folder = hierarchy / fs::path(group).relative_path(); folder.string().size() >= hierarchy.string().size();
       folder = folder.parent_path()) {
    std::uint64_t bytes = 0;
    if (std::ifstream(folder / file) >> bytes) limit = std::min(limit, bytes);  // "max" is no number
  }
  return limit;
}

bool names_memory(std::string_view controllers) {
  for (std::size_t at = 0; at <= controllers.size();) {
    const std::size_t end = std::min(controllers.find(',', at), controllers.size());
    if (controllers.substr(at, end - at) == "memory") return true;
    at = end + 1;
  }
  return false;
}

// Of all shards together.
std::uint64_t staging_bytes(const Config& config) {
  return config.listen ? config.buffer_size * std::max<std::size_t>(config.cores.size(), 1) : 0;
}

std::string of_limit(std::uint64_t limit) {
  return std::to_string(limit) + " bytes that this process may use (the machine's, or its cgroup's limit)";
}

}  // namespace

std::uint64_t memory_limit(const fs::path& root) {
  auto limit = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream self(root / "proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {  // number:controllers:path
    const auto controllers = line.find(':');
    const auto path = line.find(':', controllers + 1);
    if (controllers == std::string::npos || path == std::string::npos) continue;
    const auto names = line.substr(controllers + 1, path - controllers - 1);
    const auto group = line.substr(path + 1);
    if (names.empty()) limit = least_of(groups, group, "memory.max", limit);
    if (names_memory(names)) limit = least_of(groups / "memory", group, "memory.limit_in_bytes", limit);
  }
  return limit;
}

std::uint64_t most_segment_bytes(const Config& config, std::uint64_t limit) {
  if (config.max_segment_bytes != 0) return config.max_segment_bytes;
  return (limit - std::min(limit, staging_bytes(config))) / 2;
}

Result<void> check_memory(const Config& config, std::uint64_t limit) {
  if (const auto staging = staging_bytes(config); staging > limit / 2) {
    return Error{Status::invalid_request, "--buffer-size " + std::to_string(config.buffer_size) +
                                              ": with all --cores " + std::to_string(staging) +
                                              " bytes, more than half of the " + of_limit(limit) +
                                              "; lower it, or raise that limit"};
  }
  if (const auto most = most_segment_bytes(config, limit); config.segment_size > most) {
    return Error{Status::invalid_request, "--segment-size " + std::to_string(config.segment_size) +
                                              ": all clients together may have " + std::to_string(most) + " of the " +
                                              of_limit(limit) + "; lower it, or raise --max-segment-bytes"};
  }
  return {};
}

}  // namespace rde
