#include "bench/bench.h"

#include <doctest/doctest.h>

#include "bench/measures.h"
#include "bench/report.h"

using namespace rde;
using namespace rde::tools;

namespace {

MeasureSpec spec_with(Aim aim, Better better = Better::lower) {
  return {.name = "sample", .unit = "ns", .what = "", .better = better, .aim = aim, .make = {}};
}

}  // namespace

TEST_CASE("a summary has the smallest, the middle and the ninety-ninth of a hundred") {
  std::vector<double> samples;
  for (int i = 1; i <= 101; ++i) samples.push_back(i);
  const auto summary = summarize(samples, Better::lower);
  CHECK(summary.n == 101);
  CHECK(summary.min == 1);
  CHECK(summary.median == 51);
  CHECK(summary.p99 == 100);
  CHECK(summarize(samples, Better::higher).p99 == 2);
  CHECK(summarize({}, Better::lower).n == 0);
}

TEST_CASE("the ratio compares each round with its own reference") {
  const auto spec = spec_with({Aim::ratio_at_most, 1.6});
  // The machine was ten times slower in the second round; the ratio does not mind.
  const auto outcome = judge(spec, "two cores", {{{150}, {100}}, {{1500}, {1000}}, {{150}, {100}}});
  CHECK(outcome.ratio == doctest::Approx(1.5));
  CHECK(outcome.ok == true);
}

TEST_CASE("an aim is reached or missed in the direction that it says") {
  const std::vector<Round> rounds{{{100}, {50}}};
  CHECK(judge(spec_with({Aim::ratio_at_most, 1.9}), "", rounds).ok == false);
  CHECK(judge(spec_with({Aim::ratio_at_least, 1.9}), "", rounds).ok == true);
  CHECK(judge(spec_with({Aim::value_at_most, 100}), "", rounds).ok == true);
  CHECK(judge(spec_with({Aim::value_at_least, 101}), "", rounds).ok == false);
  CHECK_FALSE(judge(spec_with({}), "", rounds).ok.has_value());
}

TEST_CASE("a measure is one JSON object with exactly the agreed keys") {
  const auto spec = spec_with({Aim::ratio_at_most, 1.6});
  const auto json = to_json(judge(spec, "two cores", {{{150, 160, 170}, {100}}}));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"name", "placement", "unit", "n", "min", "median", "p99", "reference", "ratio",
                                         "aim", "ok"});
  CHECK(json["ok"] == true);
  CHECK(json["aim"] == "ratio <= 1.6");
}

TEST_CASE("a measure that was not taken has a note and no figures") {
  const auto spec = spec_with({Aim::ratio_at_most, 1.6});
  const auto left_out = skipped(spec, "two cores", {Status::not_supported, "not built"});
  CHECK_FALSE(left_out.failed);
  const auto json = to_json(left_out);
  CHECK(json["median"].is_null());
  CHECK(json["ok"].is_null());
  CHECK(json["note"] == "not built");
  CHECK(skipped(spec, "", {Status::engine_gone, "died"}).failed);
}

TEST_CASE("a placement is named by what the kernel says of the two processors") {
  CHECK(placement_label(0, 0, 1, 1, true) == "same core");
  CHECK(placement_label(0, 0, 1, 1, false) == "SMT siblings");
  CHECK(placement_label(0, 0, 1, 2, false) == "two cores");
  CHECK(placement_label(0, 1, 1, 1, false) == "different packages");
}

TEST_CASE("the raw ping-pong gives samples wherever it runs") {
  const auto samples = raw_pingpong(choose_placement(), 5 * kMillisecond);
  REQUIRE_FALSE(samples.empty());
  for (const double sample : samples) CHECK(sample > 0);
}

TEST_CASE("names of measures are unique") {
  std::vector<std::string_view> names;
  for (const auto* spec : all_measures()) {
    CHECK(std::ranges::find(names, spec->name) == names.end());
    names.push_back(spec->name);
  }
}

TEST_CASE("a child that ends before it is ready, or badly, is told apart from a slow one") {
  auto ended = Child::start({"/bin/sh", "-c", "echo hello"}, "/dev/null");
  REQUIRE(ended);
  const auto line = (*ended)->wait_for_line("ready ", 20 * kSecond);
  REQUIRE_FALSE(line);
  CHECK(line.error().status == Status::operation_failed);
  auto bad = Child::start({"/bin/sh", "-c", "exit 3"}, "/dev/null");
  REQUIRE(bad);
  CHECK((*bad)->wait_for_end(20 * kSecond)->code == 3);
  auto slow = Child::start({"/bin/sh", "-c", "echo ready now; exec sleep 100"}, "/dev/null");
  REQUIRE(slow);
  CHECK(*(*slow)->wait_for_line("ready ", 20 * kSecond) == "ready now");
  CHECK((*slow)->wait_for_line("more", 10 * kMillisecond).error().status == Status::deadline_exceeded);
  CHECK_FALSE(Child::start({"/nonexistent/program"}, "/dev/null"));
}
