// What a measure came to.
//
//   Outcome outcome = judge(spec, "two cores", rounds);
//   std::cout << to_json(outcome).dump() << '\n';
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/statistics.h"

namespace rde::tools {

struct Outcome {
  const MeasureSpec* spec = nullptr;
  std::string placement;
  Summary summary;
  std::vector<std::pair<double, double>> percentiles;  // where less is better
  std::optional<double> reference;                     // median of all rounds
  std::optional<double> ratio;                         // median of the ratios of the rounds
  std::optional<bool> ok;                              // none: no aim, or nothing was measured
  std::string note;
  bool failed = false;  // it could not be measured, and should have been
};

Outcome judge(const MeasureSpec& spec, std::string placement, const std::vector<Round>& rounds);
// Gives the verdicts that need another measure of the run: Aim::ahead.
void compare(std::vector<Outcome>& outcomes);
// Beside what it says already.
void add_note(Outcome& outcome, const std::string& text);
// One that was not measured.
Outcome skipped(const MeasureSpec& spec, std::string placement, const Error& why);

// {"name","placement","unit","n","min","median","p99","reference","ratio","aim","ok"} and "note" where there is one;
// null where nothing was measured.
nlohmann::ordered_json to_json(const Outcome& outcome);
void print_table(std::ostream& out, const std::vector<Outcome>& outcomes);
std::string aim_text(const Aim& aim);

}  // namespace rde::tools
