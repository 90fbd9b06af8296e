// Records, their pages and the wheel.
#include <doctest/doctest.h>

#include <vector>

#include "session/session_slab.h"

using namespace rde;

namespace {

constexpr Nanoseconds kStart = 1'000 * kSecond;

std::uint32_t timed(SessionSlab& slab, Nanoseconds expires, Nanoseconds now = kStart) {
  const auto index = slab.take(now);
  REQUIRE(index != SessionSlab::kNone);
  slab.at(index).state = SessionState::created;
  slab.at(index).expires = expires;
  slab.schedule(index);
  return index;
}

std::vector<std::uint32_t> due(SessionSlab& slab, Nanoseconds now, unsigned most = 1'000'000) {
  std::vector<std::uint32_t> list;
  (void)slab.advance(now, most, [&](std::uint32_t index) {
    slab.unschedule(index);
    slab.at(index).state = SessionState::expired;
    slab.give_back(index);
    list.push_back(index);
  });
  return list;
}

}  // namespace

TEST_CASE("a record is of a new generation each time it is taken, and never of generation 0") {
  SessionSlab slab(4, kStart);
  const auto index = slab.take(kStart);
  CHECK(slab.at(index).generation == 1);
  slab.at(index).generation = ~std::uint32_t{0};
  slab.at(index).state = SessionState::completed;
  slab.give_back(index);
  CHECK(slab.take(kStart) == index);
  CHECK(slab.at(index).generation == 1);
}

TEST_CASE("no more records than the most are given out") {
  SessionSlab slab(3, kStart);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(slab.take(kStart) == i);
  CHECK(slab.take(kStart) == SessionSlab::kNone);
  slab.at(1).state = SessionState::failed;
  slab.give_back(1);
  CHECK(slab.take(kStart) == 1);
}

TEST_CASE("pages are made when they are needed, and a page is 64 bytes a record") {
  SessionSlab slab(1'000'000, kStart);
  CHECK(slab.memory() == 0);
  for (int i = 0; i < 1024; ++i) (void)slab.take(kStart);
  CHECK(slab.memory() == 65'536);
  (void)slab.take(kStart);
  CHECK(slab.memory() == 131'072);
}

TEST_CASE("an expired record is remembered for a minute while others are there") {
  SessionSlab slab(100, kStart);
  const auto index = timed(slab, kStart + kSecond);
  CHECK(due(slab, kStart + 2 * kSecond) == std::vector{index});
  CHECK(slab.take(kStart + 3 * kSecond) != index);
  CHECK(slab.take(kStart + 62 * kSecond) == index);
}

TEST_CASE("where no other record is left, the one that expired first is taken") {
  SessionSlab slab(2, kStart);
  const auto later = timed(slab, kStart + 2 * kSecond);
  const auto sooner = timed(slab, kStart + kSecond);
  CHECK(due(slab, kStart + 3 * kSecond).size() == 2);
  CHECK(slab.take(kStart + 3 * kSecond) == sooner);
  CHECK(slab.take(kStart + 3 * kSecond) == later);
  CHECK(slab.take(kStart + 3 * kSecond) == SessionSlab::kNone);
}

TEST_CASE("the wheel fires each record once, when its time is over and never before") {
  SessionSlab slab(10'000, kStart);
  std::vector<Nanoseconds> when;
  // Up to ten rounds of the wheel ahead, and some that are due at once.
  for (std::uint32_t i = 0; i < 2'000; ++i) timed(slab, kStart + i * kSecond / 3);
  std::size_t fired = 0;
  for (Nanoseconds now = kStart; now < kStart + 700 * kSecond; now += 200 * kMillisecond) {
    for (const auto index : due(slab, now)) {
      CHECK(slab.at(index).expires <= now);
      ++fired;
    }
  }
  CHECK(fired == 2'000);
}

TEST_CASE("a record that is unscheduled never fires, also while its slot is being looked through") {
  SessionSlab slab(16, kStart);
  std::vector<std::uint32_t> all;
  for (int i = 0; i < 8; ++i) all.push_back(timed(slab, kStart + kSecond));
  CHECK(due(slab, kStart + 2 * kSecond, 3).size() == 3);
  slab.unschedule(all[5]);
  CHECK(due(slab, kStart + 2 * kSecond).size() == 4);
}

TEST_CASE("a bounded number of records is looked at, and the rest the next time") {
  SessionSlab slab(1'000, kStart);
  for (int i = 0; i < 100; ++i) timed(slab, kStart + kSecond);
  std::size_t fired = 0;
  for (int turn = 0; turn < 10; ++turn) fired += due(slab, kStart + 5 * kSecond, 10).size();
  CHECK(fired == 100);
}

TEST_CASE("time that jumps over many rounds of the wheel misses nothing") {
  SessionSlab slab(1'000, kStart);
  for (std::uint32_t i = 0; i < 500; ++i) timed(slab, kStart + i * kSecond);
  CHECK(due(slab, kStart + 100'000 * kSecond).size() == 500);
}
