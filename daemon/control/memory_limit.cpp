#include "control/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace rde {

std::uint64_t memory_limit() {
  auto limit = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    if (!line.starts_with("0::")) continue;  // the unified hierarchy
    const std::filesystem::path root("/sys/fs/cgroup");
    for (auto group = root / std::filesystem::path(line.substr(3)).relative_path();
         group.string().size() >= root.string().size(); group = group.parent_path()) {
      std::uint64_t bytes = 0;
      if (std::ifstream(group / "memory.max") >> bytes) limit = std::min(limit, bytes);  // "max" is no number
    }
  }
  return limit;
}

}  // namespace rde
