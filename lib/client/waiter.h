// Sleeping until a channel has a completion, for any number of threads of one client (docs/rings.md, "Sleeping").
//
// The first thread that waits leads: it blocks on the wake socket for all, and hands the news on. The others wait for
// it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "client/channel.h"
#include "ring/doorbell.h"

namespace rde {

class Waiter {
 public:
  // The descriptors are borrowed: the client's wake socket and its attach socket.
  Waiter(const SegmentView& view, int wake, int attach_socket);

  enum class Outcome { ready, timed_out, engine_gone, channel_faulted };
  // Blocks until the channel has a completion, the deadline (CLOCK_MONOTONIC) passes, the engine goes, or has faulted
  // the channel. Completions that are there come first.
  Outcome wait(Channel& channel, Nanoseconds deadline);

  // Looks at the attach socket without blocking.
  bool engine_gone();

 private:
  bool lost_wakeup();
  void lead(std::unique_lock<std::mutex>& lock, Channel& channel, Nanoseconds deadline);

  std::mutex mutex_;
  std::condition_variable changed_;
  Sleeper sleeper_;
  int wake_;
  int attach_socket_;
  bool leading_ = false;
  bool gone_ = false;
  std::uint64_t rounds_ = 0;
};

}  // namespace rde
