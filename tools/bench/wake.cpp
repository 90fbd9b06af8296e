// wake: a NOP to an engine that sleeps, from a client that sleeps until the answer; against two threads that wake each
// other by eventfds.
#include <sys/eventfd.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "bench/bench.h"
#include "bench/measures.h"
#include "client/client.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kPause = 300 * kMicrosecond;  // both sides are asleep by then
constexpr Nanoseconds kPatience = 10 * kSecond;

void pause() {
  const timespec time{0, static_cast<long>(kPause)};
  nanosleep(&time, nullptr);
}

double microseconds_since(Nanoseconds start) { return static_cast<double>(now_ns() - start) / 1e3; }

bool ring(int event) {
  const std::uint64_t one = 1;
  return write(event, &one, sizeof one) == sizeof one;
}
std::uint64_t wait_for(int event) {
  std::uint64_t count = 0;
  return read(event, &count, sizeof count) == sizeof count ? count : 0;
}

// Blocking on both sides. The other thread ends when it is rung twice at once.
Result<std::vector<double>> eventfd_pingpong(const Placement& placement, Nanoseconds length) {
  const Descriptor there(eventfd(0, EFD_CLOEXEC)), back(eventfd(0, EFD_CLOEXEC));
  if (!there || !back) return system_error("eventfd", errno);
  std::jthread other([&] {
    (void)pin_thread(placement.engine);
    while (wait_for(there.get()) == 1 && ring(back.get())) {
    }
  });
  std::vector<double> samples;
  for (const Nanoseconds end = now_ns() + length; now_ns() < end;) {
    pause();
    const Nanoseconds start = now_ns();
    if (!ring(there.get()) || wait_for(back.get()) == 0) break;
    samples.push_back(microseconds_since(start));
  }
  const std::uint64_t two = 2;
  (void)!write(there.get(), &two, sizeof two);
  return samples;
}

class Wake final : public Measure {
 public:
  explicit Wake(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    auto reference = eventfd_pingpong(bench_.placement(), length / 2);
    if (!reference) return reference.error();
    Round round{.samples = {}, .reference = std::move(*reference)};
    const auto engine = bench_.sleeping_engine();
    if (!engine) return engine.error();
    if (!client_) {
      auto client = Client::attach({.socket = (*engine)->socket(), .name = "ring-bench", .channels = 1, .depth = 8});
      if (!client) return client.error();
      client_ = std::move(*client);
      const auto& attachment = client_->attachment();
      waiter_.emplace(client_->view(), attachment.wake.get(), attachment.socket.get());
    }
    for (const Nanoseconds end = now_ns() + length; now_ns() < end;) {
      auto sample = trip();
      if (!sample) return sample.error();
      round.samples.push_back(*sample);
    }
    return round;
  }

 private:
  Result<double> trip() {
    Channel& channel = client_->channel(0);
    // The word is odd while the engine sleeps (docs/rings.md).
    const auto* sleep = &client_->view().shard_doorbell(0)->sleep;
    const Nanoseconds give_up = now_ns() + kPatience;
    do {
      pause();
      if (now_ns() > give_up) return Error{Status::deadline_exceeded, "the engine does not go to sleep"};
    } while ((load_acquire(sleep) & 1U) == 0);
    const Nanoseconds start = now_ns();
    if (auto tag = channel.submit({.op = RDE_OP_NOP}); !tag) return tag.error();
    if (waiter_->wait(channel, start + kPatience) != Waiter::Outcome::ready)
      return Error{Status::deadline_exceeded, "the engine did not answer a NOP"};
    const double time = microseconds_since(start);
    Reaped reaped;
    if (!channel.reap(reaped)) return Error{Status::engine_broken, "the answer is none"};
    return time;
  }

  Bench& bench_;
  std::unique_ptr<Client> client_;
  std::optional<Waiter> waiter_;
};

}  // namespace

const MeasureSpec kWake{.name = "wake",
                        .unit = "us",
                        .what = "NOP round trip with both sides asleep, against an eventfd ping-pong",
                        .better = Better::lower,
                        .aim = {Aim::ratio_at_most, 1.5},
                        .make = [](Bench& bench) { return std::make_unique<Wake>(bench); }};

}  // namespace rde::tools
