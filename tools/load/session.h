// The producers of one process, from attaching to their common result.
//
//   Session session(options, stop);
//   if (auto opened = session.open(); !opened) return opened.error();
//   SessionResult result = session.run([](const ProgressCount& soFar) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "load/connection.h"
#include "load/options.h"
#include "load/stop.h"
#include "load/tally.h"

namespace rde::tools {

struct ProgressCount {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
};

struct SessionResult {
  Tally tally;
  double seconds = 0;
  bool timed_out = false;             // some requests were never answered
  std::vector<std::string> troubles;  // why producers ended early
};

class Session {
 public:
  Session(const LoadOptions& options, const StopSign& stop);

  Result<void> open();
  // Calls `progress` about once a second, on the calling thread.
  SessionResult run(const std::function<void(const ProgressCount&)>& progress);

 private:
  const LoadOptions& options_;
  const StopSign& stop_;
  Connection connection_;
};

}  // namespace rde::tools
