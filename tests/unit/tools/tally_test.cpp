#include "load/tally.h"

#include <doctest/doctest.h>

using namespace rde;
using namespace rde::tools;

namespace {

Tally sample() {
  Tally tally;
  tally.ops[index_of(Op::nop)].latency.record(120, 5);
  tally.ops[index_of(Op::read)].latency.record(50'000);
  tally.ops[index_of(Op::read)].failed = 2;
  tally.errors["peer_down"] = 2;
  tally.requests = 8;
  tally.bytes = tally.bytes_verified = 4096;
  tally.objects_verified = 1;
  tally.engine_gone = 3;
  return tally;
}

}  // namespace

TEST_CASE("tallies add up") {
  Tally total = sample();
  total.merge(sample());
  CHECK(total.done() == 12);
  CHECK(total.failed() == 4);
  CHECK(total.errors["peer_down"] == 4);
  CHECK(total.bytes_verified == 8192);
  CHECK(total.engine_gone == 6);
}

TEST_CASE("a tally goes through JSON unchanged") {
  const auto json = to_json(sample());
  const auto back = tally_from_json(nlohmann::json::parse(json.dump()));
  REQUIRE(back);
  CHECK(to_json(*back) == json);
}

TEST_CASE("a tally is not made of something else") {
  for (const char* text : {"{}", "[]", "3", "null", "{\"requests\":\"x\"}"}) {
    CHECK_FALSE(tally_from_json(nlohmann::json::parse(text)));
  }
  auto broken = to_json(sample());
  broken["ops"]["read"]["latency"]["buckets"] = {1, 2};
  CHECK_FALSE(tally_from_json(broken));
}
