#include "bench/placement.h"

#include <pthread.h>
#include <sched.h>

#include <fstream>
#include <vector>

namespace rde::tools {
namespace {

int topology(int processor, const char* name) {
  int value = -1;
  std::ifstream("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" + name) >> value;
  return value;
}

cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

// Taken before main, and so before anything is pinned.
const cpu_set_t kAtStart = affinity();

}  // namespace

std::string placement_label(int package_a, int package_b, int core_a, int core_b, bool same_processor) {
  if (same_processor) return "same core";
  if (package_a != package_b) return "different packages";
  return core_a == core_b ? "SMT siblings" : "two cores";
}

Placement choose_placement() {
  std::vector<int> usable;
  for (int i = 0; i < CPU_SETSIZE && usable.size() < 2; ++i) {
    if (CPU_ISSET(static_cast<unsigned>(i), &kAtStart)) usable.push_back(i);
  }
  if (usable.empty()) usable.push_back(0);
  Placement placement{.client = usable.front(), .engine = usable.back(), .label = {}};
  constexpr auto kPackage = "physical_package_id";
  constexpr auto kCore = "core_id";
  placement.label =
      placement_label(topology(placement.client, kPackage), topology(placement.engine, kPackage),
                      topology(placement.client, kCore), topology(placement.engine, kCore), placement.is_shared());
  return placement;
}

void unpin_thread() { sched_setaffinity(0, sizeof kAtStart, &kAtStart); }

Result<void> pin_thread(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(processor), &set);
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0) {
    return system_error("pin to processor " + std::to_string(processor), code);
  }
  return {};
}

}  // namespace rde::tools
