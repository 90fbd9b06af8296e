// ucx_perftest between the two processors, over TCP with the settings of this engine's transport.
//
//   auto bandwidth = ucx_am_bandwidth(bench, 1 << 20, kSecond);      // MiB a second
//
// Errors: not_supported where it is not installed or printed nothing in time, operation_failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace rde::tools {

// Of active messages, for about `length`: MiB a second.
Result<double> ucx_am_bandwidth(Bench& bench, std::uint32_t bytes, Nanoseconds length);
// One way: microseconds, the median.
Result<double> ucx_am_latency(Bench& bench, std::uint32_t bytes, Nanoseconds length);

// The last figures of its CSV: iterations, median, average and overall latency, average and overall bandwidth, average
// and overall message rate. Nothing where there are none.
std::vector<double> perftest_figures(const std::string& output);

}  // namespace rde::tools
