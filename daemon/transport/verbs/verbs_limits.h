// The tunables of the verbs transport, each with its reason.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace rde {

// One frame waits in each; a peer's requests come in bursts of up to 64.
constexpr std::uint32_t kReceives = 64;
// Kept back for frames that only return credits, so that two sides that wait for each other never wait for ever.
constexpr std::uint32_t kReservedCredits = 2;
// Frames on their way that do not fit into a work request.
constexpr std::uint32_t kSendFrames = 32;
// Send queue. Two places stay free: the heartbeat, and the last write before a drain.
constexpr std::uint32_t kSendDepth = 128;
constexpr std::uint32_t kSendReserve = 2;
// Unsignalled work requests in a row; the frames behind them are taken back by the next completion.
constexpr std::uint32_t kSignalEvery = 16;
static_assert(kSignalEvery * 2 <= kSendFrames && kSendFrames < kSendDepth);
// Asked of the device; a request with its landing takes 160 bytes.
constexpr std::uint32_t kInlineBytes = 220;
// Of one RDMA WRITE: what is behind it in the queue waits for so long.
constexpr std::uint32_t kWriteBytes = 1 << 20;
// Landings that one peer holds at a time.
constexpr std::uint32_t kMaxLandings = 4096;
// Links that share a completion queue, which has room for all their queues.
constexpr std::uint32_t kLinksPerQueue = 16;
constexpr int kQueueDepth = static_cast<int>(kLinksPerQueue * (kSendDepth + kReceives) + 64);
// Completions taken at once.
constexpr int kBatch = 32;

// 4.096 µs × 2^14 = 67 ms a try, 7 tries: a host that froze is noticed after half a second. Retry 7 would be for ever.
constexpr std::uint8_t kAckTimeout = 14;
constexpr std::uint8_t kRetries = 6;
// Credits keep receives posted, so "receiver not ready" is a fault; 0.64 ms a try.
constexpr std::uint8_t kReceiverNotReadyTimer = 12;
// A peer's host that froze acknowledges nothing, and only what is sent is missed.
constexpr Nanoseconds kHeartbeat = 100 * kMillisecond;
// rdma_cm is asked with a system call.
constexpr Nanoseconds kConnectionPause = 100 * kMicrosecond;
// Destroying the queue pair is the barrier; waiting for its completions before is politeness.
constexpr Nanoseconds kDrainTime = 200 * kMillisecond;
constexpr int kResolveMilliseconds = 2000;

}  // namespace rde
