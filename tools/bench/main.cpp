// ring-bench: the headline figures, each beside a reference of the same run.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/plot.h"
#include "bench/rounds.h"
#include "common/exit_code.h"

namespace {

using namespace rde;
using namespace rde::tools;

volatile sig_atomic_t g_stop = 0;

struct Options {
  BenchOptions bench;
  std::vector<std::string> only;
  double seconds = 0.4;
  std::string plot;
  bool json = false;
};

// A program of this product: beside this one as it was called, or in the build folder that this one lies in.
std::string find_program(const std::string& called_as, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path called(called_as);
  const auto real = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const auto& path :
       {called.has_parent_path() ? called.parent_path() / name : std::filesystem::path(), real.parent_path() / name,
        real.parent_path().parent_path() / "bin" / name, real.parent_path().parent_path() / "daemon" / "engine" / name,
        real.parent_path().parent_path().parent_path() / "bin" / name}) {
    if (!path.empty() && access(path.c_str(), X_OK) == 0) return std::filesystem::absolute(path, ignored).string();
  }
  return {};
}

// Errors name what is not a measure, and all that are.
Result<std::vector<const MeasureSpec*>> choose(const std::vector<std::string>& only) {
  std::vector<const MeasureSpec*> chosen;
  const auto all = all_measures();
  if (only.empty()) return std::vector<const MeasureSpec*>(all.begin(), all.end());
  for (const auto& name : only) {
    const auto found = std::ranges::find_if(all, [&](const MeasureSpec* spec) { return spec->name == name; });
    if (found == all.end()) {
      std::string text = "--only '" + name + "': no such measure; there are";
      for (const auto* spec : all) text += " " + std::string(spec->name);
      return Error{Status::invalid_request, text};
    }
    chosen.push_back(*found);
  }
  return chosen;
}

int run(const Options& options) {
  const auto chosen = choose(options.only);
  if (!chosen) {
    std::cerr << "ring-bench: " << chosen.error().text << '\n';
    return kBadUsage;
  }
  if (!options.plot.empty() && find_gnuplot().empty()) {
    std::cerr << "ring-bench: --plot: " << no_gnuplot().text << '\n';
    return kCouldNotStart;
  }
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends it at once
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  Bench bench(options.bench);
  if (auto pinned = pin_thread(bench.placement().client); !pinned) {
    std::cerr << "ring-bench: " << pinned.error().text << '\n';
    return kCouldNotStart;
  }
  const auto outcomes = run_rounds(bench, *chosen, [] { return g_stop != 0; });
  if (options.json) {
    for (const auto& outcome : outcomes) std::cout << to_json(outcome).dump() << '\n';
  }
  print_table(options.json ? std::cerr : std::cout, outcomes);
  if (!options.plot.empty()) {
    if (auto drawn = plot_latencies(bench, outcomes, options.plot); !drawn) {
      std::cerr << "ring-bench: --plot: " << drawn.error().text << '\n';
      return kCouldNotStart;
    }
  }
  const bool failed = std::ranges::any_of(outcomes, [](const Outcome& outcome) { return outcome.failed; });
  const bool missed = std::ranges::any_of(outcomes, [](const Outcome& outcome) { return outcome.ok == false; });
  return failed ? kCouldNotStart : missed ? kCheckFailed : kGood;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Takes the headline figures, each beside a reference of the same run.", "ring-bench"};
  Options options;
  app.add_option("--only", options.only, "only these measures")->delimiter(',');
  app.add_option("--rounds", options.bench.rounds, "how often each measure has its turn")
      ->check(CLI::Range(1U, 10'000U))
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "of each measure in each round; its reference takes half as long")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--engine", options.bench.engine, "path of rdma-engine; default: beside this program");
  app.add_option("--go-client", options.bench.go_client, "path of ring-bench-go; default: beside this program");
  app.add_option("--peers", options.bench.peers,
                 "folder of the programs of tests/peers; default: peers, beside this program");
  app.add_option("--plot", options.plot, "SVG to draw latency percentiles into, with gnuplot");
  app.add_flag("--json", options.json, "print one line of JSON for each measure; the table then goes to stderr");
  app.set_version_flag("--version", "ring-bench " RDE_VERSION);
  std::string footer = "Measures:\n";
  for (const auto* spec : all_measures()) {
    footer += "  " + std::string(spec->name) + ": " + std::string(spec->what) + '\n';
  }
  app.footer(
      footer +
      "Latencies in ns are means of 256 round trips in a row: one sample. p99: 99 of 100 samples are at "
      "least as good. A round during which the host moved the processors nearer or apart is dropped, and rounds "
      "of different placements are never mixed.\nExit codes: 0 good, 1 short of an aim, 2 bad usage, 3 a measure "
      "could not run.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadUsage;
  }
  options.bench.round_length = static_cast<Nanoseconds>(options.seconds * 1e9);
  if (options.bench.engine.empty()) options.bench.engine = find_program(argv[0], "rdma-engine");
  if (options.bench.go_client.empty()) options.bench.go_client = find_program(argv[0], "ring-bench-go");
  options.bench.c_client = find_program(argv[0], "ring-bench-c");
  options.bench.requester = find_program(argv[0], "ring-bench-read");
  options.bench.sidecar = find_program(argv[0], "rdma-sidecar");
  if (options.bench.peers.empty()) options.bench.peers = find_program(argv[0], "peers");
  return run(options);
}
