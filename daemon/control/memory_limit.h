// How much memory this process may use, and whether the configuration keeps to it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/status.h"
#include "config/config.h"

namespace rde {

// Bytes: the least of what the machine has and what this process's cgroups (version 2 or 1) and their parents allow.
// Reads /proc and /sys below `root`, "/" but for tests.
std::uint64_t memory_limit(const std::filesystem::path& root = "/");

// What all segments together may take: --max-segment-bytes, or half of what the staging memory leaves of `limit`.
std::uint64_t most_segment_bytes(const Config& config, std::uint64_t limit);

// Whether staging memory and one segment fit into `limit`: memory that is not there is not refused by the kernel but
// ends processes. Errors: invalid_request, naming the option, what it takes, and the limit.
Result<void> check_memory(const Config& config, std::uint64_t limit);

}  // namespace rde
