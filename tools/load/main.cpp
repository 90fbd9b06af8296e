// ring-load: drives an engine as many clients would, and verifies every byte that it answers.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "common/exit_code.h"
#include "load/report.h"
#include "load/worker.h"

namespace {

using namespace rde;
using namespace rde::tools;

StopSign g_stop;

void on_signal(int) { g_stop.raise(); }

struct Options {
  LoadOptions load;
  std::string mix = "nop";
  std::string objects;
  double seconds = 5;
  double timeout = 10;
  double drain = 30;
  std::uint64_t allow_failures = 0;
  bool json = false;
  bool progress = false;
  std::optional<std::uint32_t> worker;
};

void add_options(CLI::App& app, Options& options) {
  auto& load = options.load;
  app.add_option("--socket", load.socket, "attach socket of the engine")->capture_default_str();
  app.add_option("--producers", load.producers, "threads of each process, each on a channel of its own")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--processes", load.processes, "client processes")->check(CLI::Range(1U, 256U))->capture_default_str();
  app.add_option("--depth", load.depth, "operations that each producer keeps running")
      ->check(CLI::Range(1U, 4094U))
      ->capture_default_str();
  app.add_option("--mix", options.mix, "operations and their weights, of nop, ping, stat, read: nop=70,read=30")
      ->capture_default_str();
  app.add_option("--objects", options.objects, "file of lines VID,FID SIZE SHA256; needed for stat and read");
  app.add_option("--seconds", options.seconds, "how long")->check(CLI::Range(0.01, 1e7))->capture_default_str();
  app.add_option("--rate", load.rate,
                 "operations per second of all together; latencies then count from the time "
                 "each was due. 0: as fast as answers come")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--piece", load.piece, "bytes of one read; larger objects take several")
      ->check(CLI::AsSizeValue(false))
      ->check(CLI::Range(1U, 1U << 30))
      ->capture_default_str();
  app.add_option("--segment-size", load.segment_size, "bytes of the segment; 0: what is needed")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--timeout", options.timeout, "seconds until a request has failed")
      ->check(CLI::Range(0.001, 1e6))
      ->capture_default_str();
  app.add_option("--drain", options.drain, "seconds that what runs at the end may take")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--allow-failures", options.allow_failures,
                 "failed operations that are still good; wrong bytes never are");
  app.add_flag("--reattach", load.reattach, "when the engine is lost, attach to the next one");
  app.add_flag("--spin", load.spin, "never sleep while waiting");
  app.add_flag("--json", options.json, "print the result as JSON");
  app.add_flag("--progress", options.progress, "print a line on stderr each second");
  app.add_option("--worker", options.worker)->group("");
  app.set_version_flag("--version", "ring-load " RDE_VERSION);
  app.footer(
      "SIGINT or SIGTERM ends the load early and prints the result so far; a second one does not wait.\n"
      "Exit codes: 0 every byte verified and nothing failed, 1 not so, 2 bad usage, 3 could not attach, 4 timed out.");
}

// What the command line says, checked as a whole.
Result<void> complete(Options& options) {
  auto& load = options.load;
  auto mix = parse_mix(options.mix);
  if (!mix) return mix.error();
  load.mix = *mix;
  if (load.mix.needs_objects()) {
    if (options.objects.empty()) {
      return Error{Status::invalid_request,
                   "--mix " + options.mix + " needs --objects FILE, lines VID,FID SIZE SHA256"};
    }
    auto objects = read_objects(options.objects);
    if (!objects) return objects.error();
    load.objects = std::move(*objects);
  }
  const auto nanoseconds = [](double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); };
  load.duration = nanoseconds(options.seconds);
  load.timeout = nanoseconds(options.timeout);
  load.drain = nanoseconds(options.drain);
  return {};
}

int fail(const Error& error, int code) {
  std::cerr << "ring-load: " << error.text << '\n';
  return code;
}

Result<SessionResult> run_load(const Options& options, const std::vector<std::string>& arguments) {
  ProgressCount before;
  const auto progress = [&](const ProgressCount& now) {
    if (options.progress) print_progress(std::cerr, now, before);
    before = now;
  };
  if (options.load.processes > 1) {
    Fleet fleet;
    if (auto started = fleet.start(arguments, options.load.processes); !started) return started.error();
    return fleet.run(g_stop, progress);
  }
  Session session(options.load, g_stop);
  if (auto opened = session.open(); !opened) return opened.error();
  return session.run(progress);
}

int run(Options& options, const std::vector<std::string>& arguments) {
  if (auto completed = complete(options); !completed) return fail(completed.error(), kBadUsage);
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  const sigset_t stops = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);

  if (options.worker) {
    options.load.rate /= options.load.processes;
    options.load.worker = *options.worker;
    return run_worker(options.load, g_stop);
  }
  auto result = run_load(options, arguments);
  if (!result) {
    return fail(result.error(), result.error().status == Status::segment_not_ready ? kTimedOut : kCouldNotStart);
  }
  for (const auto& trouble : result->troubles) std::cerr << "ring-load: " << trouble << '\n';
  const int code = exit_code_of(*result, options.allow_failures);
  if (options.json) {
    std::cout << report_json(options.load, *result, code).dump(2) << '\n';
  } else {
    print_report(std::cout, options.load, *result, code);
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Drives rdma-engine as many clients would, and verifies every byte that it answers.", "ring-load"};
  Options options;
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadUsage;
  }
  return run(options, std::vector<std::string>(argv, argv + argc));
}
