// What ring-load prints at the end, and what it exits with.
//
//   std::cout << report_json(options, result, verdict).dump(2);
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "load/options.h"
#include "load/session.h"

namespace rde::tools {

// An exit code: good only where every byte that came was verified, something was done, and at most `allowed` operations
// failed for other reasons than wrong answers, which are never allowed.
int exit_code_of(const SessionResult& result, std::uint64_t allowed);

nlohmann::ordered_json report_json(const LoadOptions& options, const SessionResult& result, int exit_code);
void print_report(std::ostream& out, const LoadOptions& options, const SessionResult& result, int exit_code);
void print_progress(std::ostream& out, const ProgressCount& now, const ProgressCount& before);

}  // namespace rde::tools
