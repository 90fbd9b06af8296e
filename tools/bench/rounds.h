// Measures taking turns, each round between two short ping-pongs that tell where the host has put the processors.
//
//   auto outcomes = run_rounds(bench, chosen, [] { return false; });
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "bench/report.h"

namespace rde::tools {

// The kernel's label, and what the hand-over of a line shows: "two cores, near" or "two cores, far", or "two cores, not
// seen" where other programs left no moment to see it. A host may put the
// two processors of a guest on one physical core, or apart, and move them at any time. Of one processor there is
// nothing to tell.
std::string seen_placement(const Placement& placement, const std::vector<double>& pingpong);

// One outcome for each measure and placement that was seen; rounds of different placements are never mixed, and one
// during which it changed is dropped.
std::vector<Outcome> run_rounds(Bench& bench, const std::vector<const MeasureSpec*>& chosen,
                                const std::function<bool()>& stopped);

}  // namespace rde::tools
