#include "client/waiter.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "scripted_engine.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

using Outcome = Waiter::Outcome;

struct Rig {
  explicit Rig(std::uint32_t count = 1) : engine({.channels = count, .depth = 8}) {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    ours = Descriptor(fds[0]);
    theirs = Descriptor(fds[1]);
    waiter = std::make_unique<Waiter>(engine.view(), engine.wake(), ours.get());
    for (std::uint32_t i = 0; i < count; ++i) channels.emplace_back(engine.view(), i, engine.event());
  }

  ScriptedEngine engine;
  Descriptor ours;
  Descriptor theirs;
  std::unique_ptr<Waiter> waiter;
  std::vector<Channel> channels;
};

Nanoseconds in_ms(std::uint64_t milliseconds) { return now_ns() + milliseconds * kMillisecond; }

std::uint64_t lost_wakeups(const Rig& rig) { return load_relaxed(&rig.engine.view().client_doorbell()->late_wakeups); }

}  // namespace

TEST_CASE("a completion that is there already ends a wait at once") {
  const Watchdog watchdog(60);
  Rig rig;
  const auto tag = rig.channels[0].submit({.op = RDE_OP_NOP});
  REQUIRE(tag);
  rig.engine.complete(*tag);
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::ready);
  CHECK(rig.engine.view().client_doorbell()->sleeps == 0);
}

TEST_CASE("a wait without a completion ends by its time") {
  const Watchdog watchdog(60);
  Rig rig;
  const auto start = now_ns();
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30)) == Outcome::timed_out);
  CHECK(now_ns() - start >= 30 * kMillisecond);
  CHECK(rig.waiter->wait(rig.channels[0], 0) == Outcome::timed_out);
  CHECK(lost_wakeups(rig) == 0);
}

TEST_CASE("a wait that slept leaves the ring hot and the sleeper awake") {
  const Watchdog watchdog(60);
  Rig rig;
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(5)) == Outcome::timed_out);
  CHECK(rig.engine.view().channel(0)->completion_cold == 0);
  CHECK(rig.engine.view().client_doorbell()->sleep % 2 == 0);
}

TEST_CASE("an engine that closes the attach socket ends a wait") {
  const Watchdog watchdog(60);
  Rig rig;
  CHECK_FALSE(rig.waiter->engine_gone());
  std::thread closing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    rig.theirs.reset();
  });
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::engine_gone);
  closing.join();
  CHECK(rig.waiter->engine_gone());
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::engine_gone);
}

TEST_CASE("an engine that closes the wake socket is gone") {
  const Watchdog watchdog(60);
  Rig rig;
  rig.engine.close_wake();
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::engine_gone);
}

TEST_CASE("what was completed before the engine went is still there") {
  const Watchdog watchdog(60);
  Rig rig;
  const auto tag = rig.channels[0].submit({.op = RDE_OP_NOP});
  rig.engine.complete(*tag);
  rig.theirs.reset();
  CHECK(rig.waiter->engine_gone());
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::ready);
}

TEST_CASE("a channel that is faulted ends its wait") {
  const Watchdog watchdog(60);
  Rig rig;
  std::thread faulting([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    store_release(&rig.engine.view().channel(0)->state, std::uint32_t{RDE_CHANNEL_STATE_FAULTED});
  });
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(30'000)) == Outcome::channel_faulted);
  faulting.join();
}

TEST_CASE("an engine that fills the wake socket cannot hold a waiter up") {
  const Watchdog watchdog(60);
  Rig rig;
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    while (!stop) rig.engine.send_bare_wake();
  });
  CHECK(rig.waiter->wait(rig.channels[0], in_ms(50)) == Outcome::timed_out);
  stop = true;
  flood.join();
}

TEST_CASE("no wake-up is lost by any of several threads that wait") {
  const Watchdog watchdog(180);
  constexpr std::uint32_t kThreads = 3;
  constexpr std::uint64_t kRounds = 300 * kScale;
  Rig rig(kThreads);
  std::atomic<std::uint32_t> running{kThreads};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      Channel& channel = rig.channels[index];
      std::mt19937_64 random(index);
      for (std::uint64_t round = 0; round < kRounds; ++round) {
        const auto tag = channel.submit({.op = RDE_OP_NOP}, round);
        Reaped reaped;
        if (!tag || rig.waiter->wait(channel, in_ms(60'000)) != Outcome::ready || !channel.reap(reaped) ||
            reaped.user != round) {
          ++wrong;
          break;
        }
        if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
      --running;
    });
  }
  std::mt19937_64 random(99);
  while (running != 0) {
    bool worked = false;
    for (std::uint32_t index = 0; index < kThreads; ++index) {
      rde_request request;
      while (rig.engine.take(request, index)) {
        const Nanoseconds until = now_ns() + random() % (50 * kMicrosecond);
        while (now_ns() < until) cpu_relax();
        rig.engine.complete(request.tag, index);
        worked = true;
      }
    }
    if (!worked) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(lost_wakeups(rig) == 0);
  CHECK(rig.engine.wakes > 0);
}

TEST_CASE("threads that wait are all told when the engine goes") {
  const Watchdog watchdog(60);
  constexpr std::uint32_t kThreads = 4;
  Rig rig(kThreads);
  std::atomic<std::uint32_t> told{0};
  std::vector<std::thread> threads;
  for (std::uint32_t index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      if (rig.waiter->wait(rig.channels[index], in_ms(60'000)) == Outcome::engine_gone) ++told;
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  rig.theirs.reset();
  for (auto& thread : threads) thread.join();
  CHECK(told == kThreads);
}

TEST_CASE("threads with different deadlines each end by their own") {
  const Watchdog watchdog(60);
  Rig rig(3);
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> good{0};
  for (std::uint32_t index = 0; index < 3; ++index) {
    threads.emplace_back([&, index] {
      const auto deadline = in_ms(20 * (index + 1));
      if (rig.waiter->wait(rig.channels[index], deadline) == Outcome::timed_out && now_ns() >= deadline) ++good;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 3);
  CHECK(lost_wakeups(rig) == 0);
}

}  // namespace rde::test
