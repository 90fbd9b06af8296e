#include "ring/doorbell.h"

#include <doctest/doctest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "prim/socket.h"
#include "rde_layout.h"
#include "ring/ring.h"
#include "slot_memory.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

std::vector<std::uint32_t> taken_by(Sleeper& sleeper) {
  std::vector<std::uint32_t> channels;
  sleeper.take([&](std::uint32_t channel) { channels.push_back(channel); });
  return channels;
}

}  // namespace

TEST_CASE("a ringer wakes a sleeper once for each sleep") {
  rde_doorbell bell{};
  Ringer ringer(&bell);
  Sleeper sleeper(&bell, 4);
  sleeper.announce();
  CHECK(ringer.ring(1));
  CHECK_FALSE(ringer.ring(1));
  CHECK_FALSE(ringer.ring(2));
  sleeper.wake();
  sleeper.announce();
  CHECK(ringer.ring(3));
}

TEST_CASE("a ringer does not wake who is awake, but leaves word") {
  rde_doorbell bell{};
  Ringer ringer(&bell);
  Sleeper sleeper(&bell, 4);
  CHECK_FALSE(ringer.ring(2));
  CHECK(sleeper.any());
  CHECK(taken_by(sleeper) == std::vector<std::uint32_t>{2});
  CHECK_FALSE(sleeper.any());
}

TEST_CASE("two ringers of one sleeper each wake it at most once") {
  rde_doorbell bell{};
  Ringer first(&bell);
  Ringer second(&bell);
  Sleeper sleeper(&bell, 4);
  sleeper.announce();
  CHECK(first.ring(0));
  CHECK(second.ring(1));
  CHECK_FALSE(first.ring(1));
  CHECK_FALSE(second.ring(0));
}

TEST_CASE("bits name channels in every word of the bitmap") {
  rde_doorbell bell{};
  Ringer ringer(&bell);
  Sleeper sleeper(&bell, RDE_MAX_CHANNELS);
  const std::vector<std::uint32_t> channels{0, 63, 64, 127, 2048, 4095};
  for (const auto channel : channels) ringer.ring(channel);
  CHECK(taken_by(sleeper) == channels);
  CHECK(taken_by(sleeper).empty());
}

TEST_CASE("bits behind the last channel are dropped and keep nobody awake") {
  for (const std::uint32_t channels : {1U, 63U, 64U, 65U}) {
    CAPTURE(channels);
    rde_doorbell bell{};
    Sleeper sleeper(&bell, channels);
    for (std::uint32_t bit = channels; bit < RDE_MAX_CHANNELS; ++bit)
      bell.bits[bit / 64] |= std::uint64_t{1} << (bit % 64);
    CHECK_FALSE(sleeper.any());
    CHECK(taken_by(sleeper).empty());
    bell.bits[0] |= 1;
    CHECK(sleeper.any());
    CHECK(taken_by(sleeper) == std::vector<std::uint32_t>{0});
  }
}

TEST_CASE("a sleeper knows whether it was rung") {
  rde_doorbell bell{};
  Ringer ringer(&bell);
  Sleeper sleeper(&bell, 1);
  sleeper.announce();
  CHECK_FALSE(sleeper.rung());
  ringer.ring(0);
  CHECK(sleeper.rung());
}

TEST_CASE("the words of a doorbell tell tools what happened") {
  rde_doorbell bell{};
  Sleeper sleeper(&bell, 1);
  sleeper.announce();
  CHECK(bell.sleep == 1);
  sleeper.wake();
  CHECK(bell.sleep == 2);
  sleeper.count_sleep();
  sleeper.count_late_wakeup();
  CHECK(bell.sleeps == 1);
  CHECK(bell.late_wakeups == 1);
}

TEST_CASE("no wake-up is lost between two threads with random gaps") {
  const Watchdog watchdog(120);
  constexpr std::uint32_t kSlots = 64;
  constexpr std::uint32_t kRings = 2;
  constexpr int kCapMs = 2000;
  rde_doorbell bell{};
  std::uint32_t cold[kRings] = {};
  std::uint64_t consumed[kRings] = {};
  SlotMemory<rde_request> memory[kRings] = {SlotMemory<rde_request>(kSlots), SlotMemory<rde_request>(kSlots)};
  auto wake = prim::make_wake_pair();
  REQUIRE(wake);
  std::atomic<bool> stop{false};
  std::uint64_t written = 0;
  std::uint64_t wakes = 0;

  std::thread writing([&] {
    std::mt19937_64 random(7);
    Ringer ringer(&bell);
    RingWriter<rde_request> writers[kRings] = {{memory[0].slots(), kSlots}, {memory[1].slots(), kSlots}};
    const Nanoseconds end = now_ns() + 2 * kSecond;
    while (now_ns() < end) {
      const std::uint32_t ring = random() % kRings;
      if (writers[ring].position() - load_acquire(&consumed[ring]) < kSlots) {
        writers[ring].write({.op = RDE_OP_NOP, .tag = writers[ring].position()});
        ++written;
        full_fence();
        if (load_relaxed(&cold[ring]) != 0 && ringer.ring(ring)) {
          ++wakes;
          prim::send_wake(wake->ringer.get());
        }
      }
      const Nanoseconds until = now_ns() + random() % (200 * kMicrosecond);
      while (now_ns() < until) cpu_relax();
    }
    stop = true;
    prim::send_wake(wake->ringer.get());
  });

  std::mt19937_64 random(8);
  Sleeper sleeper(&bell, kRings);
  RingReader<rde_request> readers[kRings] = {{memory[0].slots(), kSlots}, {memory[1].slots(), kSlots}};
  std::uint64_t read = 0;
  std::uint64_t wrong = 0;
  std::uint64_t late = 0;
  const auto poll_ring = [&](std::uint32_t ring) {
    rde_request request;
    while (readers[ring].read(request)) {
      wrong += request.tag + 1 == readers[ring].position() ? 0 : 1;
      ++read;
      store_release(&consumed[ring], readers[ring].position());
    }
  };
  for (bool last = false; !last;) {
    last = stop;
    const Nanoseconds until = now_ns() + random() % (100 * kMicrosecond);
    do {
      poll_ring(0);
      poll_ring(1);
    } while (now_ns() < until);
    if (last) break;
    for (auto& word : cold) store_relaxed(&word, std::uint32_t{1});
    sleeper.announce();
    if (!sleeper.any() && !readers[0].ready() && !readers[1].ready()) {
      sleeper.count_sleep();
      const auto woken = prim::wait_readable(wake->sleeper.get(), kCapMs);
      if (woken && !*woken && sleeper.any()) ++late;
      prim::drain_wake(wake->sleeper.get());
    }
    sleeper.wake();
    for (auto& word : cold) store_relaxed(&word, std::uint32_t{0});
    sleeper.take(poll_ring);
  }
  writing.join();
  poll_ring(0);
  poll_ring(1);
  CHECK(late == 0);
  CHECK(wrong == 0);
  CHECK(read == written);
  CHECK(wakes > 0);
  CHECK(bell.sleeps > 0);
}

TEST_CASE("a sleep word that stays odd makes one wake") {
  rde_doorbell bell{};
  bell.sleep = 0xFFFFFFFF;
  Ringer ringer(&bell);
  std::uint64_t wakes = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) wakes += ringer.ring(0) ? 1 : 0;
  CHECK(wakes == 1);
}

}  // namespace rde::test
