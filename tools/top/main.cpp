// ring-top: what each attached client does, second by second.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/exit_code.h"
#include "dump/target.h"
#include "top/summary.h"

namespace {

using namespace rde;
using namespace rde::tools;

volatile sig_atomic_t g_stop = 0;

struct Options {
  std::string target = "/run/rdma-engine/attach.sock";
  double interval = 1;
  std::uint64_t count = 0;
  bool json = false;
};

// A client that goes while it is looked at is left out.
Result<std::vector<ClientSummary>> look(const std::string& target) {
  auto found = find_segments(target, std::nullopt);
  if (!found) return found.error();
  std::vector<ClientSummary> clients;
  for (auto& source : found->sources) {
    if (auto image = SegmentImage::open(std::move(source)))
      clients.push_back(summarize(take_snapshot(*image, {.last = 0})));
  }
  return clients;
}

int fail(const Error& error) {
  std::cerr << "ring-top: " << error.text << '\n';
  if (error.status == Status::invalid_request) return kBadUsage;
  return error.status == Status::segment_not_ready ? kTimedOut : kCouldNotStart;
}

void print(const Options& options, const std::vector<Row>& rows) {
  if (options.json) {
    std::cout << to_json(rows).dump() << std::endl;
    return;
  }
  if (isatty(STDOUT_FILENO) != 0) std::cout << "\033[H\033[2J";
  print_rows(std::cout, rows);
  std::cout << std::flush;
}

int run(const Options& options) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_stop = 1; };
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  const timespec pause{
      static_cast<time_t>(options.interval),
      static_cast<long>((options.interval - static_cast<double>(static_cast<time_t>(options.interval))) * 1e9)};
  auto before = look(options.target);
  if (!before) return fail(before.error());
  for (std::uint64_t round = 0; g_stop == 0 && (options.count == 0 || round < options.count); ++round) {
    nanosleep(&pause, nullptr);
    auto now = look(options.target);
    if (!now) return fail(now.error());
    print(options, rows_between(*before, *now));
    before = std::move(now);
  }
  return kGood;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows what each client of an engine does, second by second. Never writes into a segment.", "ring-top"};
  Options options;
  app.add_option("TARGET", options.target, "attach socket of an engine, or id of an engine or client process")
      ->capture_default_str();
  app.add_option("--interval", options.interval, "seconds between two looks")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_option("--count", options.count, "looks until it ends; 0: until it is interrupted");
  app.add_flag("--json", options.json, "print a line of JSON for each look");
  app.set_version_flag("--version", "ring-top " RDE_VERSION);
  app.footer("Exit codes: 0 good, 2 bad usage, 3 target not readable, 4 timed out.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadUsage;
  }
  return run(options);
}
