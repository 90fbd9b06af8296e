// A measure of ring-bench: one figure, taken in rounds, each beside a reference taken in the same round.
//
//   const MeasureSpec kMine = {.name = "mine", .unit = "ns", .better = Better::lower,
//                              .aim = {Aim::ratio_at_most, 1.6}, .make = [](Bench& b) { return make_mine(b); }};
//
// One file for each measure, or for a family of them; registry.cpp names them all.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/statistics.h"

namespace rde::tools {

class Bench;

struct Aim {
  enum Kind { none, ratio_at_most, ratio_at_least, value_at_most, value_at_least, p99_at_most, ahead };
  Kind kind = none;
  double value = 0;
  std::string_view ours = {};  // ahead: the measure of this run that must be better, in median and 99th percentile
};

// Samples of one round, in the unit of the measure. Without a reference there is no ratio.
struct Round {
  std::vector<double> samples;
  std::vector<double> reference;
  std::string note;      // why there is no reference, say
  unsigned dropped = 0;  // windows that are not in the samples: a side was off its processor meanwhile
};

class Measure {
 public:
  virtual ~Measure() = default;
  // About `length` of measuring. Errors: not_supported skips the measure, with the text as its note; any other fails
  // it.
  virtual Result<Round> round(Nanoseconds length) = 0;
};

struct MeasureSpec {
  std::string_view name;
  std::string_view unit;
  std::string_view what;  // for --help
  Better better = Better::lower;
  Aim aim;
  std::function<std::unique_ptr<Measure>(Bench&)> make;
};

// All that there are, in the order in which they are run.
std::span<const MeasureSpec* const> all_measures();

}  // namespace rde::tools
