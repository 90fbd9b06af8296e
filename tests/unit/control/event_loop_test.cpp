#include "control/event_loop.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>

#include "prim/socket.h"

using namespace rde;

namespace {

Descriptor rung_event() {
  auto event = prim::make_event();
  REQUIRE(event);
  prim::ring_event(event->get());
  return std::move(*event);
}

EventLoop make_loop() {
  auto loop = EventLoop::make();
  REQUIRE(loop);
  return std::move(*loop);
}

}  // namespace

TEST_CASE("a handler is called while its descriptor is readable, and not once it is removed") {
  auto loop = make_loop();
  const auto event = rung_event();
  int called = 0;
  REQUIRE(loop.add(event.get(), [&] { ++called; }));
  loop.run_once(0);
  loop.run_once(0);
  CHECK(called == 2);
  loop.remove(event.get());
  loop.run_once(0);
  CHECK(called == 2);
}

TEST_CASE("a handler may remove itself, and go on to use what it holds") {
  auto loop = make_loop();
  const auto event = rung_event();
  std::string last;
  REQUIRE(loop.add(event.get(), [&, text = std::string("a text too long to be kept in place")] {
    loop.remove(event.get());
    last = text;
  }));
  loop.run_once(0);
  loop.run_once(0);
  CHECK(last == "a text too long to be kept in place");
}

TEST_CASE("of two handlers that remove each other one is called") {
  auto loop = make_loop();
  const std::array events{rung_event(), rung_event()};
  int called = 0;
  for (const auto& event : events) {
    REQUIRE(loop.add(event.get(), [&] {
      ++called;
      for (const auto& each : events) loop.remove(each.get());
    }));
  }
  loop.run_once(0);
  CHECK(called == 1);
}

TEST_CASE("an event of a closed descriptor does not reach a new one with the same number") {
  auto loop = make_loop();
  std::array events{rung_event(), rung_event()};
  int wrong = 0;
  Descriptor reused;
  for (auto& event : events) {
    REQUIRE(loop.add(event.get(), [&] {
      // Whichever comes first closes the other, whose number a third takes, which is not readable.
      auto& other = &event == &events[0] ? events[1] : events[0];
      const int number = other.get();
      loop.remove(number);
      other.reset();
      auto made = prim::make_event();
      REQUIRE(made);
      REQUIRE(made->get() == number);
      reused = std::move(*made);
      REQUIRE(loop.add(number, [&] { ++wrong; }));
      loop.remove(event.get());
    }));
  }
  loop.run_once(0);
  loop.run_once(0);
  CHECK(wrong == 0);
  CHECK(reused);
}

TEST_CASE("a descriptor that cannot be watched is an error, as is one that is watched already") {
  auto loop = make_loop();
  CHECK_FALSE(loop.add(-1, [] {}));
  const auto event = rung_event();
  int called = 0;
  REQUIRE(loop.add(event.get(), [&] { ++called; }));
  CHECK_FALSE(loop.add(event.get(), [] { FAIL("replaced"); }));
  loop.run_once(0);
  CHECK(called == 1);
}

TEST_CASE("the end of a connection calls its handler") {
  auto loop = make_loop();
  auto pair = prim::make_wake_pair();
  REQUIRE(pair);
  int called = 0;
  REQUIRE(loop.add(pair->sleeper.get(), [&] { ++called; }));
  loop.run_once(0);
  CHECK(called == 0);
  pair->ringer.reset();
  loop.run_once(0);
  CHECK(called == 1);
}
