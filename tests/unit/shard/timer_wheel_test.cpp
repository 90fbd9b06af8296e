#include "shard/timer_wheel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

using namespace rde;

namespace {

constexpr Nanoseconds kStart = 1'000'000 * kSecond + 123'456;

struct Fired {
  std::vector<const Timer*> timers;
  void operator()(Timer& timer) { timers.push_back(&timer); }
};

std::size_t count_fired(TimerWheel& wheel, Nanoseconds now) {
  std::size_t fired = 0;
  wheel.advance(now, [&](Timer&) { ++fired; });
  return fired;
}

}  // namespace

TEST_CASE("a timer fires once, not before it is due and at most two ticks after") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart + 10 * kMillisecond);
  CHECK(count_fired(wheel, kStart + 10 * kMillisecond - 1) == 0);
  CHECK(count_fired(wheel, kStart + 12 * kMillisecond) == 1);
  CHECK(count_fired(wheel, kStart + 20 * kMillisecond) == 0);
  CHECK(wheel.count() == 0);
}

TEST_CASE("a timer that is due already fires at the next tick") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, 0);
  CHECK(count_fired(wheel, kStart) == 0);
  CHECK(count_fired(wheel, kStart + kMillisecond) == 1);
}

TEST_CASE("a removed timer never fires, and removing it again does nothing") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart + kMillisecond);
  wheel.remove(timer);
  wheel.remove(timer);
  CHECK(wheel.count() == 0);
  CHECK(count_fired(wheel, kStart + kSecond) == 0);
}

TEST_CASE("a deadline of many rounds ahead waits for its own round") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart + 60 * kSecond);
  for (Nanoseconds now = kStart; now < kStart + 60 * kSecond; now += 7 * kMillisecond) {
    REQUIRE(count_fired(wheel, now) == 0);
  }
  CHECK(count_fired(wheel, kStart + 60 * kSecond + 2 * kMillisecond) == 1);
}

TEST_CASE("the last deadline that there is never fires and does not upset the wheel") {
  TimerWheel wheel(kStart);
  Timer never;
  Timer soon;
  wheel.add(never, ~Nanoseconds{0});
  wheel.add(soon, kStart + kMillisecond);
  CHECK(count_fired(wheel, kStart + 3600 * kSecond) == 1);
  CHECK(wheel.count() == 1);
  wheel.remove(never);
}

TEST_CASE("after a jump of the clock over many rounds every due timer fires") {
  TimerWheel wheel(kStart);
  std::deque<Timer> timers(5000);
  for (std::size_t i = 0; i < timers.size(); ++i) wheel.add(timers[i], kStart + i * 3 * kMillisecond);
  CHECK(count_fired(wheel, kStart + 365 * 86'400 * kSecond) == timers.size());
  CHECK(wheel.count() == 0);
}

TEST_CASE("a wheel that was empty for long takes a timer at the present") {
  TimerWheel wheel(kStart);
  const Nanoseconds later = kStart + 1000 * kSecond;
  CHECK(count_fired(wheel, later) == 0);
  Timer timer;
  wheel.add(timer, later + 5 * kMillisecond);
  CHECK(count_fired(wheel, later + 4 * kMillisecond) == 0);
  CHECK(count_fired(wheel, later + 7 * kMillisecond) == 1);
}

TEST_CASE("a timer may be added again while it fires") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart + kMillisecond);
  int fired = 0;
  const auto again = [&](Timer& due) {
    ++fired;
    wheel.add(due, due.due + kMillisecond);
  };
  for (int i = 0; i <= 100; ++i) wheel.advance(kStart + static_cast<Nanoseconds>(i) * kMillisecond, again);
  CHECK(fired >= 98);
  CHECK(fired <= 100);
  wheel.remove(timer);
}

TEST_CASE("a timer that adds itself in the past fires once a tick, and ends with the advance") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart);
  int fired = 0;
  wheel.advance(kStart + 10 * kMillisecond, [&](Timer& due) {
    ++fired;
    wheel.add(due, 0);
  });
  CHECK(fired == 10);
  wheel.remove(timer);
}

TEST_CASE("a firing timer may remove others that are due at the same moment") {
  TimerWheel wheel(kStart);
  std::deque<Timer> timers(8);
  for (auto& timer : timers) wheel.add(timer, kStart + kMillisecond);
  int fired = 0;
  wheel.advance(kStart + 5 * kMillisecond, [&](Timer& due) {
    ++fired;
    for (auto& timer : timers) {
      if (&timer != &due) wheel.remove(timer);
    }
  });
  CHECK(fired == 1);
  CHECK(wheel.count() == 0);
}

TEST_CASE("next_due names a moment no later than the first deadline needs, and 0 where nothing is near") {
  TimerWheel wheel(kStart);
  CHECK(wheel.next_due(kStart + kSecond) == 0);
  Timer timer;
  wheel.add(timer, kStart + 50 * kMillisecond);
  CHECK(wheel.next_due(kStart + 10 * kMillisecond) == 0);
  const Nanoseconds next = wheel.next_due(kStart + 100 * kMillisecond);
  CHECK(next >= kStart + 50 * kMillisecond);
  CHECK(next <= kStart + 52 * kMillisecond);
  CHECK(count_fired(wheel, next) == 1);
}

TEST_CASE("next_due of a wheel that was not advanced for long is in the past") {
  TimerWheel wheel(kStart);
  Timer timer;
  wheel.add(timer, kStart + 5 * kMillisecond);
  const Nanoseconds now = kStart + 2 * kSecond;
  const Nanoseconds next = wheel.next_due(now + 100 * kMillisecond);
  CHECK(next != 0);
  CHECK(next < now);
  wheel.remove(timer);
}

TEST_CASE("a wheel agrees with a sorted list through random additions, removals and steps") {
  std::mt19937_64 random(7);
  TimerWheel wheel(kStart);
  std::deque<Timer> timers(400);
  std::map<const Timer*, Nanoseconds> model;
  Nanoseconds now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    Timer& timer = timers[random() % timers.size()];
    if (model.contains(&timer)) {
      wheel.remove(timer);
      model.erase(&timer);
    } else {
      constexpr Nanoseconds kSpans[] = {kMillisecond, 100 * kMillisecond, 5 * kSecond, 100 * kSecond};
      const Nanoseconds due = now + random() % kSpans[random() % std::size(kSpans)];
      wheel.add(timer, due);
      model[&timer] = due;
    }
    if (random() % 3 != 0) continue;
    constexpr Nanoseconds kSteps[] = {kMicrosecond, kMillisecond, 30 * kMillisecond, 6 * kSecond};
    now += random() % kSteps[random() % std::size(kSteps)];
    Fired fired;
    wheel.advance(now, [&](Timer& due) { fired(due); });
    for (const Timer* timer_fired : fired.timers) {
      REQUIRE(model.contains(timer_fired));
      REQUIRE(model[timer_fired] <= now);
      model.erase(timer_fired);
    }
    // What is overdue by more than two ticks must be gone.
    REQUIRE(std::ranges::none_of(model, [&](const auto& entry) { return entry.second + 2 * kMillisecond < now; }));
    REQUIRE(wheel.count() == model.size());
  }
}
