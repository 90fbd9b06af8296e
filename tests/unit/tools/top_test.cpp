#include <doctest/doctest.h>

#include <sstream>

#include "top/summary.h"

using namespace rde;
using namespace rde::tools;

namespace {

ClientSummary at_second(std::uint64_t second, std::uint64_t requests) {
  return {.number = 4, .epoch = 9, .state = "serving", .taken_ns = second * kSecond, .requests = requests};
}

}  // namespace

TEST_CASE("rates are what happened from one look to the next") {
  CHECK(rates_between(at_second(10, 100), at_second(12, 300)).requests == doctest::Approx(100));
}

TEST_CASE("a new epoch, a clock that stands still and a counter that goes back have no rate") {
  auto other = at_second(12, 300);
  other.epoch = 10;
  CHECK(rates_between(at_second(10, 100), other).requests == 0);
  CHECK(rates_between(at_second(10, 100), at_second(10, 300)).requests == 0);
  CHECK(rates_between(at_second(10, 100), at_second(12, 50)).requests == 0);
}

TEST_CASE("clients that came or went have a row only while they are there") {
  auto second = at_second(11, 50);
  second.number = 2;
  auto gone = at_second(10, 5);
  gone.number = 7;
  const auto rows = rows_between({at_second(10, 100), gone}, {at_second(11, 150), second});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].client.number == 2);
  CHECK(rows[0].rates.requests == 0);
  CHECK(rows[1].rates.requests == doctest::Approx(50));
}

TEST_CASE("a segment that cannot be read has its reason as its state") {
  Snapshot snapshot;
  snapshot.fault = Error{Status::segment_not_ready, "not yet"};
  const auto client = summarize(snapshot);
  CHECK(client.state == "segment_not_ready");
  std::ostringstream out;
  print_rows(out, {{client, {}}});
  CHECK(out.str().find("segment_not_ready") != std::string::npos);
}
