// Programs that measure, or that are measured against: where they are, and what they print.
//
//   const auto fio = find_in_path("fio");
//   if (fio.empty()) return not_installed("fio", "fio");
//   auto samples = run_sampler(bench, {program, "--socket", path}, length);
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/bench.h"

namespace rde::tools {

// Nothing where it is not installed.
std::string find_in_path(const std::string& program);
// A reference that is missing: skips the measure, saying how to get it.
Error not_installed(const std::string& program, const std::string& package);
// A program of this product that is not beside ring-bench.
Error not_built(const std::string& program);

// Runs a program for `length` and some seconds at most; all that it prints. Errors: operation_failed with its output.
Result<std::string> run_program(Bench& bench, std::vector<std::string> words, Nanoseconds length);

using Samples = std::map<std::string, std::vector<double>>;
// The same for one that prints a JSON object of arrays of numbers, by their names.
Result<Samples> run_sampler(Bench& bench, std::vector<std::string> words, Nanoseconds length);

}  // namespace rde::tools
