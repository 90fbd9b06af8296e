// How every tool here ends.
#pragma once

namespace rde::tools {

enum ExitCode : int {
  kGood = 0,
  kCheckFailed = 1,
  kBadUsage = 2,
  kCouldNotStart = 3,
  kTimedOut = 4,
};

}  // namespace rde::tools
