#include "bench/plot.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "bench/sampler.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kDrawing = 20 * kSecond;

bool is_latency(const Outcome& outcome) {
  const auto unit = outcome.spec->unit;
  return outcome.spec->better == Better::lower && (unit == "ns" || unit == "us") && outcome.percentiles.size() > 1;
}

// Each further nine of a percentile is as wide as the one before.
double place(double share) { return 0.0 - std::log10(1 - share); }

// As gnuplot reads it between single quotes.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

}  // namespace

std::string find_gnuplot() { return find_in_path("gnuplot"); }

Error no_gnuplot() {
  return {Status::not_supported, "no plot: gnuplot is not installed (Debian: apt-get install gnuplot-nox)"};
}

std::string plot_script(const std::vector<Outcome>& outcomes, const std::string& file) {
  std::ostringstream data, lines;
  unsigned count = 0;
  for (const auto& outcome : outcomes) {
    if (!is_latency(outcome)) continue;
    const double nanoseconds = outcome.spec->unit == "us" ? 1'000 : 1;
    const std::string name = "$data" + std::to_string(count);
    data << name << " << EOD\n";
    for (const auto& [share, value] : outcome.percentiles) data << place(share) << ' ' << value * nanoseconds << '\n';
    data << "EOD\n";
    lines << (count == 0 ? "plot " : ", ") << name << " using 1:2 with linespoints title "
          << quoted(std::string(outcome.spec->name) + " (" + outcome.placement + ")");
    ++count;
  }
  if (count == 0) return {};
  std::ostringstream script;
  script << "set terminal svg size 1100,650 dynamic noenhanced background rgb 'white'\n"
         << "set output " << quoted(file) << "\n"
         << "set title 'Round trips: latency by percentile'\n"
         << "set xlabel 'percentile'\nset ylabel 'nanoseconds'\n"
         << "set logscale y\nset format y '%.0s %c'\nset grid\nset key outside right\n"
         << "set xtics ('0' 0, '50' " << place(0.5) << ", '90' 1, '99' 2, '99.9' 3, '99.99' 4)\n"
         << data.str() << lines.str() << '\n';
  return script.str();
}

Result<void> plot_latencies(Bench& bench, const std::vector<Outcome>& outcomes, const std::string& file) {
  const auto gnuplot = find_gnuplot();
  if (gnuplot.empty()) return no_gnuplot();
  const auto script = plot_script(outcomes, file);
  if (script.empty()) return Error{Status::not_supported, "no plot: no latency was measured"};
  const auto folder = bench.folder();
  if (!folder) return folder.error();
  const std::string commands = *folder + "/plot.gp";
  std::ofstream(commands) << script;
  const auto drawn = run_program(bench, {gnuplot, commands}, kDrawing);
  if (!drawn) return drawn.error();
  return {};
}

}  // namespace rde::tools
