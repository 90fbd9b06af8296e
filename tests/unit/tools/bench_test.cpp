#include "bench/bench.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/crc32c.h"
#include "bench/measures.h"
#include "bench/plot.h"
#include "bench/rate.h"
#include "bench/report.h"
#include "bench/rounds.h"
#include "bench/sampler.h"
#include "bench/switch_watch.h"
#include "bench/ucx_perftest.h"
#include "bench/volume_file.h"
#include "seaweed/needle.h"
#include "test_engine.h"

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
  CHECK(judge(spec_with({Aim::p99_at_most, 99}), "", rounds).ok == false);
  CHECK(judge(spec_with({Aim::p99_at_most, 100}), "", rounds).ok == true);
  CHECK_FALSE(judge(spec_with({}), "", rounds).ok.has_value());
}

TEST_CASE("ours is ahead where it is better in median and in the ninety-ninth of a hundred, of the same placement") {
  const auto ours = spec_with({}, Better::lower);
  auto peer = spec_with({.kind = Aim::ahead, .ours = "sample"}, Better::lower);
  peer.name = "peer";
  const auto verdict = [&](std::vector<double> mine, std::vector<double> theirs, const char* where = "near") {
    std::vector<Outcome> outcomes{judge(peer, "near", {{std::move(theirs), {}}}),
                                  judge(ours, where, {{std::move(mine), {}}})};
    compare(outcomes);
    CHECK((outcomes[0].ok.has_value() || outcomes[0].note.find("sample was not measured") != std::string::npos));
    return outcomes[0].ok;
  };
  CHECK(verdict({100, 110}, {200, 210}) == true);
  CHECK(verdict({200, 210}, {100, 110}) == false);
  CHECK(verdict({100, 100, 900}, {200, 200, 200}) == false);  // ahead in the median alone
  CHECK_FALSE(verdict({100}, {200}, "far").has_value());
  CHECK(judge(peer, "near", {{{1}, {}}}).ok.has_value() == false);
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

TEST_CASE("what a hand-over takes tells near processors from far ones, whatever else the machine did meanwhile") {
  const Placement two{.client = 0, .engine = 1, .label = "two cores"};
  CHECK(seen_placement(two, {9'000, 95}) == "two cores, near");
  CHECK(seen_placement(two, {9'000, 310}) == "two cores, far");
  CHECK(seen_placement({.client = 0, .engine = 0, .label = "same core"}, {3'000}) == "same core");
  CHECK(seen_placement(two, {}) == "two cores");
  CHECK(seen_placement(two, {9'000, 70'000}) == "two cores, not seen");
}

TEST_CASE("a measure whose reference is missing has its figures, no ratio, no verdict, and says why") {
  const auto error = not_installed("ucx_perftest", "ucx-utils");
  CHECK(error.status == Status::not_supported);
  const Round round{.samples = {100}, .reference = {}, .note = error.text};
  const auto json = to_json(judge(spec_with({Aim::ratio_at_least, 0.9}), "", {round}));
  CHECK(json["median"] == 100);
  CHECK(json["reference"].is_null());
  CHECK(json["ok"].is_null());
  CHECK(json["note"].get<std::string>().find("apt-get install ucx-utils") != std::string::npos);
}

namespace {

// Fails in its second round where it is told to.
class Scripted final : public Measure {
 public:
  explicit Scripted(bool fails) : fails_(fails) {}
  Result<Round> round(Nanoseconds) override {
    if (fails_ && rounds_++ == 1) return Error{Status::engine_gone, "it died"};
    return Round{.samples = {3}, .reference = {2}, .note = {}};
  }

 private:
  bool fails_;
  unsigned rounds_ = 0;
};

std::vector<Outcome> run_scripted(bool fails, const std::function<bool()>& stopped) {
  Bench bench({.engine = {}, .go_client = {}, .c_client = {}, .requester = {}, .sidecar = {}, .rounds = 3});
  static MeasureSpec spec;
  spec = spec_with({Aim::ratio_at_most, 1.6});
  spec.make = [fails](Bench&) { return std::make_unique<Scripted>(fails); };
  return run_rounds(bench, {&spec}, stopped);
}

}  // namespace

TEST_CASE("rounds come together by placement, and a failed one ends its measure") {
  // The host may move the processors at any time: every round is in some outcome, or is told of as dropped.
  for (const auto& outcome : run_scripted(false, [] { return false; })) {
    CHECK(outcome.spec->name == "sample");
    CHECK_FALSE(outcome.failed);
    if (outcome.summary.n != 0) CHECK(outcome.ratio == doctest::Approx(1.5));
    if (outcome.summary.n == 0) CHECK(outcome.note.find("dropped") != std::string::npos);
  }
  const auto failed = run_scripted(true, [] { return false; });
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].failed);
  CHECK(failed[0].note == "it died");
  const auto stopped = run_scripted(false, [] { return true; });
  REQUIRE(stopped.size() == 1);
  CHECK(stopped[0].note == "no round was run");
}

TEST_CASE("the table says pass or short beside each aim") {
  const auto good = spec_with({Aim::ratio_at_most, 1.6}), bad = spec_with({Aim::ratio_at_most, 0.5});
  std::ostringstream table;
  print_table(
      table, {judge(good, "two cores, near", {{{150}, {100}, {}}}), judge(bad, "two cores, near", {{{150}, {100}, {}}}),
              skipped(bad, "two cores", {Status::not_supported, "not built"})});
  CHECK(table.str().find("ratio <= 1.6  pass") != std::string::npos);
  CHECK(table.str().find("ratio <= 0.5  short") != std::string::npos);
  CHECK(table.str().find("skipped: not built") != std::string::npos);
}

TEST_CASE("a program that prints samples is read, and one that fails is told of with what it said") {
  Bench bench(BenchOptions{});
  const auto samples = run_sampler(bench, {"/bin/sh", "-c", R"(echo '{"samples":[1,2.5,"x"],"n":3}')"}, kSecond);
  REQUIRE(samples);
  CHECK(samples->at("samples") == std::vector<double>{1, 2.5});
  CHECK(samples->size() == 1);
  const auto failed = run_sampler(bench, {"/bin/sh", "-c", "echo broken >&2; exit 3"}, kSecond);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().text.find("exited with 3") != std::string::npos);
  CHECK(failed.error().text.find("broken") != std::string::npos);
  CHECK_FALSE(run_sampler(bench, {"/bin/sh", "-c", "echo text"}, kSecond));
  CHECK(find_in_path("sh").ends_with("/sh"));
  CHECK(find_in_path("no-such-program").empty());
}

TEST_CASE("the last figures of ucx_perftest count, also of one that was cut off") {
  const std::string begun =
      "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
      "[thread 0]  12,41976.102,44332.325,44332.325,0.09,0.09,23,23\n"
      "[thread 0] 358,12.573,1641.673,7262.574,2.38,0.54,609,138\n";
  REQUIRE(perftest_figures(begun).size() == 8);
  CHECK(perftest_figures(begun)[1] == 12.573);
  CHECK(perftest_figures(begun + "   10000,6.5,7.5,7.0,500.25,450.5,1000,900\n")[5] == 450.5);
  CHECK(perftest_figures(begun + "[thread 0] 400,12.5").at(0) == 358);
  CHECK(perftest_figures("Waiting for connection...\n").empty());
}

TEST_CASE("a program that closes its output and goes on is not waited for") {
  auto silent = Child::start({"/bin/sh", "-c", "exec >&-; exec sleep 100"}, "/dev/null");
  REQUIRE(silent);
  CHECK((*silent)->wait_for_end(200 * kMillisecond).error().status == Status::deadline_exceeded);
}

TEST_CASE("a value of a ready line ends at the next space") {
  CHECK(value_in("ready socket=/a b=c listen=127.0.0.1:5", "listen=") == "127.0.0.1:5");
  CHECK(value_in("ready socket=/a listen=-", "socket=") == "/a");
  CHECK(value_in("ready", "http=").empty());
}

TEST_CASE("the volume of the measures that read is one that an engine takes") {
  const test::TemporaryFolder folder;
  REQUIRE(write_volume(folder.file("volumes"), 1, 10'000));
  std::ifstream file(folder.file("volumes/1.dat"), std::ios::binary);
  const std::string dat{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(dat.size() % 8 == 0);
  const auto needle = parse_needle(3, std::as_bytes(std::span(dat).subspan(8)));
  REQUIRE(needle);
  CHECK(needle->header.id == kStoreKey);
  CHECK(needle->header.cookie == kStoreCookie);
  CHECK(needle->data.size() == 10'000);
  CHECK(crc_matches(needle->meta.crc, crc32c(needle->data)));
  CHECK(reinterpret_cast<const char*>(needle->data.data()) == dat.data() + kStoreData);
  CHECK(std::filesystem::file_size(folder.file("volumes/1.idx")) == 16);
}

TEST_CASE("the turns of a thread are the third number of its schedstat") {
  CHECK(turns_of("310289072 11057000655 94\n") == 94);
  CHECK(turns_of("310289072 110") == 0);
  CHECK(turns_of("") == 0);
}

TEST_CASE("a thread that slept was off its processor") {
  SwitchWatch watch(0);
  const timespec time{0, 1'000'000};
  nanosleep(&time, nullptr);
  CHECK(watch.switched());
}

TEST_CASE("windows of a rate have operations in them, whenever the time is over") {
  std::uint64_t done = 0;
  const auto done_so_far = [&] { return done; };
  const auto many = windows_of(5 * kMillisecond, nullptr, done_so_far, [&]() -> Result<void> {
    done += 5'000;
    return {};
  });
  REQUIRE(many);
  CHECK(many->dropped == 0);
  REQUIRE_FALSE(many->samples.empty());
  for (const double rate : many->samples) CHECK(rate > 0);
  const auto few = windows_of(kMillisecond, nullptr, done_so_far, [&]() -> Result<void> {
    ++done;
    const timespec time{0, 2'000'000};
    nanosleep(&time, nullptr);
    return {};
  });
  REQUIRE(few);
  CHECK(few->samples.size() == 1);
  const auto none = windows_of(kMillisecond, nullptr, done_so_far, []() -> Result<void> { return {}; });
  REQUIRE(none);
  CHECK(none->samples.empty());
  const auto failed = windows_of(kSecond, nullptr, done_so_far, []() -> Result<void> {
    return Error{Status::engine_gone, "it died"};
  });
  CHECK_FALSE(failed);
}

TEST_CASE("windows that were dropped are counted in the entry, beside what it says already") {
  const Round one{.samples = {100}, .reference = {}, .note = "no reference", .dropped = 2};
  const Round two{.samples = {100}, .reference = {}, .note = {}, .dropped = 3};
  CHECK(judge(spec_with({}), "", {one, two}).note ==
        "no reference; 5 windows dropped: a side was off its processor meanwhile");
  CHECK(judge(spec_with({}), "", {two}).note == "3 windows dropped: a side was off its processor meanwhile");
}

TEST_CASE("percentiles go as far out as there are samples for") {
  std::vector<double> samples;
  for (int i = 1; i <= 1'000; ++i) samples.push_back(i);
  const auto many = percentiles_of(samples);
  CHECK(many.front() == std::pair(0.0, 1.0));
  CHECK(many.back() == std::pair(0.999, 999.0));
  CHECK(percentiles_of({7, 5}) == std::vector<std::pair<double, double>>{{0, 5}, {0.25, 5}, {0.5, 7}});
  CHECK(percentiles_of({}).empty());
}

TEST_CASE("a plot has a line for each latency, in nanoseconds, and none for a rate") {
  const auto latency = spec_with({});
  auto slow = spec_with({});
  slow.unit = "us";
  auto rate = spec_with({}, Better::higher);
  rate.unit = "op/s";
  rate.name = "some_rate";
  const auto script = plot_script(
      {judge(latency, "two cores, near", {{{100, 200, 300}, {}, {}}}),
       judge(slow, "two cores, far", {{{1, 2, 3}, {}, {}}}), judge(rate, "two cores, far", {{{1, 2, 3}, {}, {}}})},
      "it's.svg");
  CHECK(script.find("set output 'it''s.svg'") != std::string::npos);
  CHECK(script.find("title 'sample (two cores, near)'") != std::string::npos);
  CHECK(script.find("\n0 100\n") != std::string::npos);
  CHECK(script.find("\n0 1000\n") != std::string::npos);
  CHECK(script.find("some_rate") == std::string::npos);
  CHECK(plot_script({judge(rate, "", {{{1}, {}, {}}})}, "x.svg").empty());
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
