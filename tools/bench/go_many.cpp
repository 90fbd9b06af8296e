// go_10000 and go_10000_latency: 10,000 goroutines of one client that read 4 KiB at once, over 4 channels.
#include <algorithm>
#include <cstdio>

#include "bench/measures.h"
#include "bench/ring_reads.h"
#include "bench/sampler.h"
#include "bench/statistics.h"
#include "bench/volume_file.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kLeast = kSecond;  // in less, most goroutines have only just begun

class GoMany final : public Measure {
 public:
  GoMany(Bench& bench, std::string result) : bench_(bench), result_(std::move(result)) {}

  Result<Round> round(Nanoseconds length) override {
    const auto& program = bench_.options().go_client;
    if (program.empty()) return not_built("ring-bench-go");
    bench_.quiet();
    const auto store = bench_.store();
    if (!store) return store.error();
    const auto engine =
        bench_.engine({.name = "files",
                       .arguments = {"--export", store->folder, "--cores", std::to_string(bench_.placement().engine)}});
    if (!engine) return engine.error();
    const Nanoseconds time = std::max(length, kLeast);
    auto samples = run_sampler(
        bench_,
        {program, "--socket", (*engine)->socket(), "--object", store_object(), "--bytes", std::to_string(kStoreObject),
         "--goroutines", "10000", "--channels", "4", "--milliseconds", std::to_string(time / kMillisecond)},
        time);
    if (!samples) return samples.error();
    const auto latency = summarize((*samples)["samples"], Better::lower);
    char note[160];
    std::snprintf(note, sizeof note, "p99 %.0f us, %.0f threads, %.0f reads of the goroutine with the fewest",
                  latency.p99, median_of((*samples)["threads"]), median_of((*samples)["fewest"]));
    return Round{.samples = std::move((*samples)[result_]), .reference = {}, .note = note};
  }

 private:
  Bench& bench_;
  std::string result_;
};

}  // namespace

const MeasureSpec kGo10000{.name = "go_10000",
                           .unit = "op/s",
                           .what = "reads of 4 KiB by 10,000 goroutines at once, 4 channels",
                           .better = Better::higher,
                           .aim = {},
                           .make = [](Bench& bench) { return std::make_unique<GoMany>(bench, "rate"); }};
const MeasureSpec kGo10000Latency{.name = "go_10000_latency",
                                  .unit = "us",
                                  .what = "of each of those reads",
                                  .better = Better::lower,
                                  .aim = {},
                                  .make = [](Bench& bench) { return std::make_unique<GoMany>(bench, "samples"); }};

}  // namespace rde::tools
