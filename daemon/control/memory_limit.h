// How much memory this process may use.
#pragma once

#include <cstdint>

namespace rde {

// Bytes: the least of what the machine has and what this process's cgroup and its parents allow.
std::uint64_t memory_limit();

}  // namespace rde
