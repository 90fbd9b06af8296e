// Asking all producers of a process to stop: 1 = finish what runs, 2 = now. Set by signal handlers too.
#pragma once

#include <atomic>
#include <csignal>

namespace rde::tools {

class StopSign {
 public:
  void raise() { level_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] int level() const { return level_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> level_{0};
  static_assert(std::atomic<int>::is_always_lock_free, "used in signal handlers");
};

// The signals that raise it.
inline sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace rde::tools
