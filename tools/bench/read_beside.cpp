// read_4k_beside: a 4 KiB read beside a stream of 1 MiB reads from the same peer; stream_beside: that stream's pace
// against its pace alone, with the same slicing.
#include "bench/measures.h"
#include "bench/ring_reads.h"
#include "bench/sampler.h"
#include "bench/volume_file.h"

namespace rde::tools {
namespace {

Result<Samples> read_beside(Bench& bench, Nanoseconds length) {
  const auto& program = bench.options().requester;
  if (program.empty()) return not_built("ring-bench-read");
  bench.quiet();
  const auto storage = bench.storage_engine();
  if (!storage) return storage.error();
  return run_sampler(
      bench,
      {program, "--peer", (*storage)->listen(), "--object", store_object(), "--size", std::to_string(kStoreObject),
       "--length", std::to_string(1 << 20), "--outstanding", "4", "--cpu", std::to_string(bench.placement().client),
       "--milliseconds", std::to_string(length / kMillisecond), "--skip-crc", "--beside"},
      2 * length);
}

class ReadBeside final : public Measure {
 public:
  explicit ReadBeside(Bench& bench) : bench_(bench) {}
  Result<Round> round(Nanoseconds length) override {
    auto samples = read_beside(bench_, length);
    if (!samples) return samples.error();
    return Round{.samples = std::move((*samples)["probe"]), .reference = {}, .note = {}};
  }

 private:
  Bench& bench_;
};

class StreamBeside final : public Measure {
 public:
  explicit StreamBeside(Bench& bench) : bench_(bench) {}
  Result<Round> round(Nanoseconds length) override {
    auto samples = read_beside(bench_, length);
    if (!samples) return samples.error();
    return Round{.samples = std::move((*samples)["stream"]), .reference = std::move((*samples)["alone"]), .note = {}};
  }

 private:
  Bench& bench_;
};

}  // namespace

const MeasureSpec kRead4kBeside{.name = "read_4k_beside",
                                .unit = "us",
                                .what = "4 KiB from a storage engine beside a stream of 1 MiB reads",
                                .better = Better::lower,
                                .aim = {Aim::p99_at_most, 500},
                                .make = [](Bench& bench) { return std::make_unique<ReadBeside>(bench); }};
const MeasureSpec kStreamBeside{.name = "stream_beside",
                                .unit = "MiB/s",
                                .what = "that stream, against itself alone",
                                .better = Better::higher,
                                .aim = {Aim::ratio_at_least, 0.8},
                                .make = [](Bench& bench) { return std::make_unique<StreamBeside>(bench); }};

}  // namespace rde::tools
