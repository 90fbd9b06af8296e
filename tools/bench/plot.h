// Latency percentiles of round trips as an SVG, drawn by gnuplot.
//
//   if (auto drawn = plot_latencies(bench, outcomes, "latency.svg"); !drawn) std::cerr << drawn.error().text;
#pragma once

#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/report.h"

namespace rde::tools {

// Of every outcome that is a latency and has samples enough. Errors: not_supported where gnuplot is not installed or
// there is nothing to draw, operation_failed with what it said.
Result<void> plot_latencies(Bench& bench, const std::vector<Outcome>& outcomes, const std::string& file);

// Where gnuplot is; nothing where it is not installed. The error that says so.
std::string find_gnuplot();
Error no_gnuplot();

// The commands for gnuplot; nothing where there is no latency.
std::string plot_script(const std::vector<Outcome>& outcomes, const std::string& file);

}  // namespace rde::tools
