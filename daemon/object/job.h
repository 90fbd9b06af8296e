// Work that somebody waits for and that ends later.
#pragma once

#include "base/clock.h"
#include "base/status.h"

namespace rde {

// The caller owns it and keeps it, and the memory that it names, until on_done; on_done comes exactly once, from a
// later progress() of whoever took it (never from inside submit or cancel), and means that nothing will touch that
// memory any more. Owner thread only.
class Job {
 public:
  virtual void on_done() = 0;

  bool bulk = false;           // yields to jobs that are not
  Nanoseconds deadline = 0;    // CLOCK_MONOTONIC
  Status status = Status::ok;  // valid in on_done

 protected:
  ~Job() = default;
};

}  // namespace rde
