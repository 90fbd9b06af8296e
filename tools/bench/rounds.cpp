#include "bench/rounds.h"

#include <algorithm>
#include <map>

namespace rde::tools {
namespace {

// Nanoseconds of a round trip. Processors with a near cache in common were seen at about 80 to 140, others at 300 and
// more.
constexpr double kFar = 220;
// In more, one of the two had no processor meanwhile.
constexpr double kUndisturbed = 2'000;
constexpr Nanoseconds kLook = 20 * kMillisecond;
constexpr unsigned kLooks = 10;

struct Running {
  const MeasureSpec* spec = nullptr;
  std::unique_ptr<Measure> measure;
  std::map<std::string, std::vector<Round>> rounds;  // by placement
  unsigned dropped = 0;
  std::optional<Error> stopped;
};

// Looks again while other programs are in the way.
std::string look(Bench& bench) {
  std::vector<double> samples;
  for (unsigned i = 0; i < kLooks; ++i) {
    const auto more = bench.pingpong(kLook);
    samples.insert(samples.end(), more.begin(), more.end());
    if (bench.placement().is_shared() || std::ranges::any_of(samples, [](double s) { return s < kUndisturbed; })) break;
  }
  return seen_placement(bench.placement(), samples);
}

void run_round(Bench& bench, Running& entry) {
  const auto before = look(bench);
  auto round = entry.measure->round(bench.options().round_length);
  bench.quiet();
  if (!round) {
    entry.stopped = round.error();
    return;
  }
  if (look(bench) != before) {
    ++entry.dropped;
    return;
  }
  entry.rounds[before].push_back(std::move(*round));
}

void add_outcomes(std::vector<Outcome>& outcomes, const Bench& bench, const Running& entry) {
  const auto& label = bench.placement().label;
  if (entry.stopped) {
    outcomes.push_back(skipped(*entry.spec, label, *entry.stopped));
    return;
  }
  std::string note;
  if (entry.dropped != 0) {
    note = std::to_string(entry.dropped) + " rounds dropped: the processors were moved meanwhile, or not seen to stay";
  }
  for (const auto& [placement, rounds] : entry.rounds) {
    auto outcome = judge(*entry.spec, placement, rounds);
    add_note(outcome, note);
    outcomes.push_back(std::move(outcome));
  }
  if (entry.rounds.empty()) {
    outcomes.push_back(skipped(*entry.spec, label, {Status::not_supported, note.empty() ? "no round was run" : note}));
  }
}

}  // namespace

std::string seen_placement(const Placement& placement, const std::vector<double>& pingpong) {
  if (placement.is_shared() || pingpong.empty()) return placement.label;
  // The smallest: when the machine is busy with other things, most round trips tell about those.
  const double best = *std::ranges::min_element(pingpong);
  if (best > kUndisturbed) return placement.label + ", not seen";
  return placement.label + (best > kFar ? ", far" : ", near");
}

std::vector<Outcome> run_rounds(Bench& bench, const std::vector<const MeasureSpec*>& chosen,
                                const std::function<bool()>& stopped) {
  std::vector<Running> running;
  for (const auto* spec : chosen) {
    running.push_back({.spec = spec, .measure = spec->make(bench), .rounds = {}, .stopped = std::nullopt});
  }
  // All take turns, so that a slow moment of the machine does not fall on one of them alone.
  for (unsigned i = 0; i < bench.options().rounds; ++i) {
    for (auto& entry : running) {
      if (!entry.stopped && !stopped()) run_round(bench, entry);
    }
  }
  std::vector<Outcome> outcomes;
  for (const auto& entry : running) add_outcomes(outcomes, bench, entry);
  compare(outcomes);
  return outcomes;
}

}  // namespace rde::tools
