// Where the two ends of a measure run.
//
//   Placement placement = choose_placement();        // two processors that this process may use
//   pin_thread(placement.client);
#pragma once

#include <string>

#include "base/status.h"

namespace rde::tools {

struct Placement {
  int client = 0;
  int engine = 0;
  std::string label;  // "two cores", "SMT siblings", "different packages" or "same core", as the kernel tells
  [[nodiscard]] bool is_shared() const { return client == engine; }
};

// The first two processors of this process's affinity; the same twice where there is but one.
Placement choose_placement();
// Of the calling thread. Errors: system_error, naming the processor.
Result<void> pin_thread(int processor);
// Lets the calling thread run again wherever this process was allowed to when it started. Safe after fork.
void unpin_thread();

// The label, from the numbers of /sys/devices/system/cpu/cpuN/topology.
std::string placement_label(int package_a, int package_b, int core_a, int core_b, bool same_processor);

}  // namespace rde::tools
