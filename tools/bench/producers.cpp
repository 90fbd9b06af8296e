#include "bench/producers.h"

#include <sched.h>

#include <bit>
#include <thread>
#include <vector>

#include "bench/placement.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kPatience = 10 * kSecond;

}  // namespace

Result<Producers> Producers::attach(const std::string& socket, unsigned threads, std::uint32_t outstanding) {
  // Beside them, credits are kept for CANCEL.
  const std::uint32_t depth = std::bit_ceil(outstanding + RDE_RESERVED_CREDITS);
  auto client = Client::attach({.socket = socket, .name = "ring-bench", .channels = threads, .depth = depth});
  if (!client) return client.error();
  return Producers(std::move(*client), outstanding);
}

// How many were answered until `end`.
Result<std::uint64_t> Producers::produce(Channel& channel, Nanoseconds end) {
  std::uint64_t done = 0;
  Reaped reaped;
  for (Nanoseconds now = now_ns(); now < end || channel.outstanding() != 0; now = now_ns()) {
    if (now > end + kPatience) return Error{Status::deadline_exceeded, "the engine did not answer a NOP"};
    bool sent = false, taken = false;
    while (now < end && channel.outstanding() < outstanding_) {
      if (auto tag = channel.stage({.op = RDE_OP_NOP}); !tag) return tag.error();
      sent = true;
    }
    if (sent) channel.flush();
    while (channel.reap(reaped)) {
      if (reaped.status != Status::ok) return Error{reaped.status, "NOP: " + std::string(name_of(reaped.status))};
      if (now < end) ++done;
      taken = true;
    }
    // The others wait for this processor.
    if (!taken) sched_yield();
  }
  return done;
}

Result<double> Producers::rate(Nanoseconds length, int processor) {
  std::vector<Result<std::uint64_t>> results(client_->channel_count(), std::uint64_t{0});
  const Nanoseconds start = now_ns();
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < client_->channel_count(); ++i) {
      threads.emplace_back([this, i, processor, end = start + length, &results] {
        (void)pin_thread(processor);
        results[i] = produce(client_->channel(i), end);
      });
    }
  }
  std::uint64_t done = 0;
  for (const auto& result : results) {
    if (!result) return result.error();
    done += *result;
  }
  return static_cast<double>(done) * 1e9 / static_cast<double>(length);
}

}  // namespace rde::tools
