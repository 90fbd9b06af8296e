#include "shard/recorder.h"

#include <doctest/doctest.h>

#include "segment/segment.h"

using namespace rde;

namespace {

std::unique_ptr<Segment> small_segment() {
  auto segment = Segment::create({.plan = {.total_size = RDE_MIN_SEGMENT}, .hugepages = HugepageMode::off});
  REQUIRE(segment);
  return std::move(*segment);
}

}  // namespace

TEST_CASE("an event holds what was noted, under its position") {
  const auto segment = small_segment();
  Recorder recorder(segment->view());
  recorder.note(5, RDE_EVENT_FAULT, 3, 11, 12);
  const auto& event = segment->view().events()[0];
  CHECK(event.sequence == 1);
  CHECK(event.time_ns == 5);
  CHECK(event.type == RDE_EVENT_FAULT);
  CHECK(event.channel == 3);
  CHECK(event.a == 11);
  CHECK(event.b == 12);
  CHECK(segment->view().recorder()->next == 1);
}

TEST_CASE("the recorder keeps the last events and overwrites the first") {
  const auto segment = small_segment();
  Recorder recorder(segment->view());
  const auto events = segment->view().events();
  const std::uint64_t total = events.size() * 2 + 7;
  for (std::uint64_t i = 0; i < total; ++i) recorder.note(i, RDE_EVENT_REQUEST, 0, i, 0);
  CHECK(segment->view().recorder()->next == total);
  for (std::uint64_t i = total - events.size(); i < total; ++i) {
    CHECK(events[i % events.size()].sequence == i + 1);
    CHECK(events[i % events.size()].a == i);
  }
}

TEST_CASE("what a client writes over the recorder does not move the next event") {
  const auto segment = small_segment();
  Recorder recorder(segment->view());
  recorder.note(1, RDE_EVENT_REQUEST, 0, 0, 0);
  segment->view().recorder()->next = ~std::uint64_t{0};
  recorder.note(2, RDE_EVENT_REQUEST, 0, 1, 0);
  CHECK(segment->view().recorder()->next == 2);
  CHECK(segment->view().events()[1].a == 1);
}
