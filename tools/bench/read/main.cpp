// ring-bench-read: reads an object of a storage engine in the place of a gateway engine, for ring-bench.
//
//   ring-bench-read --peer HOST:PORT --object VID,FID --size 268435456 --length 1048576 --outstanding 4
//
// It prints a JSON object: {"samples":[...]} has MiB/s of the whole time, or with one read at a time microseconds of
// each. With --beside: {"alone":[...],"stream":[...],"probe":[...]}.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/placement.h"
#include "bench/read/requester.h"
#include "common/exit_code.h"
#include "engine/signals.h"
#include "seaweed/file_id.h"

namespace {

using namespace rde;
using namespace rde::tools;

struct Options {
  std::string peer;
  std::string object;
  ReadPlan plan;
  int processor = -1;
  unsigned milliseconds = 400;
  bool beside = false;
};

Result<nlohmann::json> measure(Requester& requester, const Options& options) {
  const Nanoseconds time = options.milliseconds * kMillisecond, warm = time / 4;
  const ReadPlan& plan = options.plan;
  if (plan.outstanding == 1) {
    if (auto warmed = requester.latencies(plan, warm); !warmed) return warmed.error();
    auto samples = requester.latencies(plan, time);
    if (!samples) return samples.error();
    return nlohmann::json{{"samples", *samples}};
  }
  if (auto warmed = requester.stream(plan, warm, Requester::Probe::none); !warmed) return warmed.error();
  auto alone = requester.stream(plan, options.beside ? time / 2 : time,
                                options.beside ? Requester::Probe::seldom : Requester::Probe::none);
  if (!alone) return alone.error();
  if (!options.beside) return nlohmann::json{{"samples", alone->stream}};
  auto beside = requester.stream(plan, time, Requester::Probe::always);
  if (!beside) return beside.error();
  return nlohmann::json{{"alone", alone->stream}, {"stream", beside->stream}, {"probe", beside->probe}};
}

Result<nlohmann::json> run(Options& options) {
  auto peer = parse_host_port(options.peer);
  if (!peer) return peer.error().in("--peer");
  const auto id = parse_file_id(options.object);
  if (!id) return id.error().in("--object");
  options.plan.object = {.volume = id->volume, .needle = id->key, .cookie = id->cookie};
  if (options.processor >= 0) {
    if (auto pinned = pin_thread(options.processor); !pinned) return pinned.error();
  }
  Config config;
  config.transport = TransportChoice::tcp;
  config.peers.push_back(std::move(*peer));
  auto requester = Requester::open(config, id->volume);
  if (!requester) return requester.error();
  return measure(**requester, options);
}

}  // namespace

int main(int argc, char** argv) {
  own_signals();
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ring-bench-read"));
  spdlog::set_level(spdlog::level::warn);
  CLI::App app{"Reads an object of a storage engine in the place of a gateway engine.", "ring-bench-read"};
  Options options;
  app.add_option("--peer", options.peer, "HOST:PORT of the storage engine")->required();
  app.add_option("--object", options.object, "VID,FID")->required();
  app.add_option("--size", options.plan.object_size, "bytes of the object")->required()->check(CLI::PositiveNumber);
  app.add_option("--length", options.plan.length, "bytes of each read")->required()->check(CLI::Range(1, 16 << 20));
  app.add_option("--outstanding", options.plan.outstanding, "reads at once")->check(CLI::Range(1, 4));
  app.add_option("--cpu", options.processor, "processor to run on; default: any");
  app.add_option("--milliseconds", options.milliseconds, "how long")->check(CLI::Range(1, 3'600'000));
  app.add_flag("--skip-crc", options.plan.skip_crc, "do not check bytes with a CRC");
  app.add_flag("--beside", options.beside, "4 KiB reads beside the stream");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kBadUsage;
  }
  if (options.plan.object_size < 2 * std::uint64_t{options.plan.length}) {
    std::cerr << "ring-bench-read: --size: want twice the length at least\n";
    return kBadUsage;
  }
  const auto samples = run(options);
  if (!samples) {
    std::cerr << "ring-bench-read: " << samples.error().text << '\n';
    return kCouldNotStart;
  }
  std::cout << samples->dump() << '\n';
  return kGood;
}
