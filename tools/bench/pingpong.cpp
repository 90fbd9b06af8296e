// pingpong: what the hardware needs to hand a cache line over and back. The reference of the ring measures.
#include <sched.h>

#include <atomic>
#include <thread>

#include "base/atomic.h"
#include "bench/bench.h"
#include "bench/measures.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kBatch = 256;

struct Lines {
  alignas(128) std::uint64_t ping = 0;
  alignas(128) std::uint64_t pong = 0;
};

// On one processor, spinning would only keep the other side from running.
void spin_until(const std::uint64_t* word, std::uint64_t value, bool shared) {
  while (load_acquire(word) != value) {
    if (shared) sched_yield();
  }
}

void answer(Lines& lines, const Placement& placement, std::atomic<bool>& ready) {
  (void)pin_thread(placement.engine);
  ready = true;
  for (std::uint64_t next = 1;; ++next) {
    std::uint64_t seen = 0;
    while ((seen = load_acquire(&lines.ping)) != next) {
      if (seen == ~std::uint64_t{0}) return;
      if (placement.is_shared()) sched_yield();
    }
    store_release(&lines.pong, next);
  }
}

class PingPong final : public Measure {
 public:
  explicit PingPong(Bench& bench) : bench_(bench) {}
  Result<Round> round(Nanoseconds length) override {
    Round round;
    round.samples = bench_.pingpong(length);
    round.reference = round.samples;
    return round;
  }

 private:
  Bench& bench_;
};

}  // namespace

std::vector<double> raw_pingpong(const Placement& placement, Nanoseconds length) {
  std::vector<double> samples;
  Lines lines;
  std::atomic<bool> ready{false};
  std::jthread other([&] { answer(lines, placement, ready); });
  while (!ready) sched_yield();
  std::uint64_t next = 0;
  const Nanoseconds end = now_ns() + length;
  for (Nanoseconds start = now_ns(); start < end;) {
    for (std::uint32_t i = 0; i < kBatch; ++i) {
      store_release(&lines.ping, ++next);
      spin_until(&lines.pong, next, placement.is_shared());
    }
    const Nanoseconds now = now_ns();
    samples.push_back(static_cast<double>(now - start) / kBatch);
    start = now;
  }
  store_release(&lines.ping, ~std::uint64_t{0});
  return samples;
}

const MeasureSpec kPingPong{.name = "pingpong",
                            .unit = "ns",
                            .what = "raw round trip of a cache line between the two processors",
                            .better = Better::lower,
                            .aim = {},
                            .make = [](Bench& bench) { return std::make_unique<PingPong>(bench); }};

}  // namespace rde::tools
