#include "bench/report.h"

#include <algorithm>
#include <cstdio>
#include <iomanip>

namespace rde::tools {
namespace {

std::optional<bool> reaches(const Aim& aim, const Summary& summary, std::optional<double> ratio) {
  switch (aim.kind) {
    case Aim::none:
      return std::nullopt;
    case Aim::ratio_at_most:
      return ratio ? std::optional(*ratio <= aim.value) : std::nullopt;
    case Aim::ratio_at_least:
      return ratio ? std::optional(*ratio >= aim.value) : std::nullopt;
    case Aim::value_at_most:
      return summary.median <= aim.value;
    case Aim::value_at_least:
      return summary.median >= aim.value;
    case Aim::p99_at_most:
      return summary.p99 <= aim.value;
    case Aim::ahead:
      return std::nullopt;  // compare() knows
  }
  return std::nullopt;
}

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value >= 1e6 ? "%.4g" : value >= 1000 ? "%.0f" : "%.1f", value);
  return text;
}

// Bounds and ratios: as short as they are written by people.
std::string ratio_text(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

}  // namespace

Outcome judge(const MeasureSpec& spec, std::string placement, const std::vector<Round>& rounds) {
  Outcome outcome{.spec = &spec, .placement = std::move(placement)};
  std::vector<double> samples, references, ratios;
  unsigned dropped = 0;
  for (const auto& round : rounds) {
    samples.insert(samples.end(), round.samples.begin(), round.samples.end());
    references.insert(references.end(), round.reference.begin(), round.reference.end());
    if (outcome.note.empty()) outcome.note = round.note;
    dropped += round.dropped;
    if (round.samples.empty() || round.reference.empty()) continue;
    // Both of one round: what the machine did to one of them, it did to the other.
    if (const double reference = median_of(round.reference); reference > 0) {
      ratios.push_back(median_of(round.samples) / reference);
    }
  }
  if (dropped != 0) {
    add_note(outcome, std::to_string(dropped) + " windows dropped: a side was off its processor meanwhile");
  }
  if (spec.better == Better::lower) outcome.percentiles = percentiles_of(samples);
  outcome.summary = summarize(std::move(samples), spec.better);
  if (!references.empty()) outcome.reference = median_of(std::move(references));
  if (!ratios.empty()) outcome.ratio = median_of(std::move(ratios));
  if (outcome.summary.n != 0) outcome.ok = reaches(spec.aim, outcome.summary, outcome.ratio);
  return outcome;
}

void add_note(Outcome& outcome, const std::string& text) {
  if (!outcome.note.empty() && !text.empty()) outcome.note += "; ";
  outcome.note += text;
}

Outcome skipped(const MeasureSpec& spec, std::string placement, const Error& why) {
  return {.spec = &spec,
          .placement = std::move(placement),
          .note = why.text,
          .failed = why.status != Status::not_supported};
}

std::string aim_text(const Aim& aim) {
  switch (aim.kind) {
    case Aim::none:
      return {};
    case Aim::ratio_at_most:
      return "ratio <= " + ratio_text(aim.value);
    case Aim::ratio_at_least:
      return "ratio >= " + ratio_text(aim.value);
    case Aim::value_at_most:
      return "median <= " + ratio_text(aim.value);
    case Aim::value_at_least:
      return "median >= " + ratio_text(aim.value);
    case Aim::p99_at_most:
      return "p99 <= " + ratio_text(aim.value);
    case Aim::ahead:
      return std::string(aim.ours) + " ahead";
  }
  return {};
}

void compare(std::vector<Outcome>& outcomes) {
  for (auto& theirs : outcomes) {
    const Aim& aim = theirs.spec->aim;
    if (aim.kind != Aim::ahead || theirs.summary.n == 0) continue;
    const auto ours = std::ranges::find_if(outcomes, [&](const Outcome& outcome) {
      return outcome.spec->name == aim.ours && outcome.placement == theirs.placement && outcome.summary.n != 0;
    });
    if (ours == outcomes.end()) {
      add_note(theirs, "no verdict: " + std::string(aim.ours) + " was not measured beside it");
      continue;
    }
    const auto better = [&](double mine, double other) {
      return theirs.spec->better == Better::lower ? mine < other : mine > other;
    };
    theirs.ok = better(ours->summary.median, theirs.summary.median) && better(ours->summary.p99, theirs.summary.p99);
  }
}

nlohmann::ordered_json to_json(const Outcome& outcome) {
  const bool any = outcome.summary.n != 0;
  const auto value = [any](double number) { return any ? nlohmann::ordered_json(number) : nlohmann::ordered_json(); };
  const auto aim = aim_text(outcome.spec->aim);
  nlohmann::ordered_json json{{"name", outcome.spec->name},
                              {"placement", outcome.placement},
                              {"unit", outcome.spec->unit},
                              {"n", outcome.summary.n},
                              {"min", value(outcome.summary.min)},
                              {"median", value(outcome.summary.median)},
                              {"p99", value(outcome.summary.p99)},
                              {"reference", or_null(outcome.reference)},
                              {"ratio", or_null(outcome.ratio)},
                              {"aim", aim.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(aim)},
                              {"ok", or_null(outcome.ok)}};
  if (!outcome.note.empty()) json["note"] = outcome.note;
  return json;
}

void print_table(std::ostream& out, const std::vector<Outcome>& outcomes) {
  if (outcomes.empty()) return;
  out << std::left << std::setw(29) << "measure" << std::setw(21) << "placement" << std::setw(6) << "unit" << std::right
      << std::setw(8) << "n" << std::setw(11) << "min" << std::setw(11) << "median" << std::setw(11) << "p99"
      << std::setw(11) << "reference" << std::setw(8) << "ratio"
      << "  aim\n";
  for (const auto& outcome : outcomes) {
    const auto& summary = outcome.summary;
    out << std::left << std::setw(29) << outcome.spec->name << std::setw(21) << outcome.placement << std::setw(6)
        << outcome.spec->unit << std::right;
    if (summary.n == 0) {
      out << (outcome.failed ? "  FAILED: " : "  skipped: ") << outcome.note << '\n';
      continue;
    }
    out << std::setw(8) << summary.n << std::setw(11) << number(summary.min) << std::setw(11) << number(summary.median)
        << std::setw(11) << number(summary.p99) << std::setw(11)
        << (outcome.reference ? number(*outcome.reference) : "-") << std::setw(8)
        << (outcome.ratio ? ratio_text(*outcome.ratio) : "-") << "  " << aim_text(outcome.spec->aim)
        << (outcome.ok ? (*outcome.ok ? "  pass" : "  short") : "");
    if (!outcome.note.empty()) out << "  (" << outcome.note << ')';
    out << '\n';
  }
}

}  // namespace rde::tools
