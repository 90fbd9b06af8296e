// What a shard is told, and what it tells.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "region/region_table.h"
#include "session/session_table.h"

namespace rde {

enum class PollMode { spin, adaptive, event };

struct ShardOptions {
  unsigned index = 0;
  int cpu = -1;  // pinned there; -1 = anywhere
  PollMode mode = PollMode::adaptive;
  bool crowded = false;  // more pollers than processors: yield at once
  Nanoseconds default_deadline = 30 * kSecond;
  std::size_t max_operations = 65'536;
  std::uint64_t max_quarantined_bytes = std::uint64_t{64} << 20;  // of one client
  // Of the whole engine, with a slab for each shard; without it the shard has one of its own.
  std::shared_ptr<SessionTable> sessions = nullptr;
  std::shared_ptr<RegionTable> regions = nullptr;  // the same
};

// Tunables of the loop. What one client can cost the others in a turn is bounded, however many channels it has.
inline constexpr unsigned kRequestsPerChannel = 64;  // taken from one channel before the client's next has its turn
inline constexpr std::int32_t kRequestsPerClient = 128;
inline constexpr std::size_t kPollsPerClient = 64;  // channels of one client
inline constexpr unsigned kColdAfterPolls = 4096;   // empty polls, before a channel is left to its doorbell
// A transport without work is looked at after so many steps: a turn is one, and so is a request. Where it had news in
// the last looks, more is likely to follow, and it is looked at sooner.
inline constexpr int kIoSteps = 128;
inline constexpr int kIoStepsAfterNews = 16;
inline constexpr unsigned kIoQuietLooks = 256;
inline constexpr std::size_t kDoorbellsPerTurn = 8;  // clients whose doorbell is looked at in one go
inline constexpr int kDoorbellSteps = 4;             // from one go to the next, while anything is polled
inline constexpr unsigned kTightTurns = 64;     // quiet turns without a pause: an answer is often followed by a request
inline constexpr unsigned kPauseTurns = 2'000;  // adaptive: quiet turns of pausing, then
inline constexpr unsigned kYieldTurns = 200;    // of yielding, before sleeping
inline constexpr Nanoseconds kSleepCap = 100 * kMillisecond;
inline constexpr Nanoseconds kRingGrace = 10 * kMillisecond;  // between a client's setting a bit and its waking us
inline constexpr Nanoseconds kCountersEvery = 100 * kMillisecond;
inline constexpr unsigned kSessionsPerTurn = 256;       // ended in a turn, of clients that have gone
inline constexpr std::uint32_t kLookupsPerClient = 32;  // names being looked up for CONNECT
static_assert(kRequestsPerClient >= static_cast<std::int32_t>(kRequestsPerChannel),
              "a lone channel gets its whole share");

// Written by the shard alone, read by the metrics thread.
struct ShardStats {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> completions{0};
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> violations{0};
  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> deadlines{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::atomic<std::uint64_t> operations{0};         // gauge
  std::atomic<std::uint64_t> quarantined{0};        // gauge, buffers
  std::atomic<std::uint64_t> quarantined_bytes{0};  // gauge
  std::atomic<std::uint64_t> clients{0};            // gauge
  std::atomic<std::uint64_t> sleeps{0};
  std::atomic<std::uint64_t> late_wakeups{0};
  std::atomic<std::uint64_t> wakeups_sent{0};
};

inline void bump(std::atomic<std::uint64_t>& count, std::uint64_t by = 1) {
  count.store(count.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}
inline void drop(std::atomic<std::uint64_t>& count, std::uint64_t by = 1) {
  count.store(count.load(std::memory_order_relaxed) - by, std::memory_order_relaxed);
}

}  // namespace rde
