// ucx_perftest between the two processors, over TCP with the settings of this engine's transport.
//
//   auto bandwidth = ucx_am_bandwidth(bench, 1 << 20, kSecond);      // MiB a second
//
// Errors: not_supported where it is not installed, operation_failed.
#pragma once

#include <cstdint>

#include "bench/bench.h"

namespace rde::tools {

// Of active messages, for about `length`: MiB a second.
Result<double> ucx_am_bandwidth(Bench& bench, std::uint32_t bytes, Nanoseconds length);
// One way: microseconds, the median.
Result<double> ucx_am_latency(Bench& bench, std::uint32_t bytes, Nanoseconds length);

}  // namespace rde::tools
