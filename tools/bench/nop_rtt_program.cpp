// nop_rtt_go and nop_rtt_c: the same as nop_rtt_cpp, from clients in Go and in C, which run as programs of their own.
#include "bench/measures.h"
#include "bench/sampler.h"

namespace rde::tools {
namespace {

class NopRttProgram final : public Measure {
 public:
  NopRttProgram(Bench& bench, std::string name, std::string program, std::vector<std::string> options = {})
      : bench_(bench), name_(std::move(name)), program_(std::move(program)), options_(std::move(options)) {}

  Result<Round> round(Nanoseconds length) override {
    if (program_.empty()) return not_built(name_);
    Round round;
    round.reference = bench_.pingpong(length / 2);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    std::vector<std::string> words{program_,
                                   "--socket",
                                   (*engine)->socket(),
                                   "--cpu",
                                   std::to_string(bench_.placement().client),
                                   "--milliseconds",
                                   std::to_string(length / kMillisecond)};
    words.insert(words.end(), options_.begin(), options_.end());
    auto samples = run_sampler(bench_, std::move(words), length);
    if (!samples) return samples.error();
    round.samples = std::move((*samples)["samples"]);
    return round;
  }

 private:
  Bench& bench_;
  std::string name_;
  std::string program_;
  std::vector<std::string> options_;
};

}  // namespace

const MeasureSpec kNopRttGo{.name = "nop_rtt_go",
                            .unit = "ns",
                            .what = "NOP round trip, Go client to engine",
                            .better = Better::lower,
                            .aim = {Aim::ratio_at_most, 1.8},
                            .make = [](Bench& bench) {
                              return std::make_unique<NopRttProgram>(bench, "ring-bench-go", bench.options().go_client);
                            }};
const MeasureSpec kNopRttGoParked{.name = "nop_rtt_go_parked",
                                  .unit = "ns",
                                  .what = "the same, the caller parked until its answer comes",
                                  .better = Better::lower,
                                  .aim = {},
                                  .make = [](Bench& bench) {
                                    return std::make_unique<NopRttProgram>(
                                        bench, "ring-bench-go", bench.options().go_client,
                                        std::vector<std::string>{"--park", "--cpu", "-1"});
                                  }};
const MeasureSpec kNopRttGoBusy{.name = "nop_rtt_go_busy",
                                .unit = "ns",
                                .what = "the same, parked beside 4 goroutines that compute",
                                .better = Better::lower,
                                .aim = {},
                                .make = [](Bench& bench) {
                                  return std::make_unique<NopRttProgram>(
                                      bench, "ring-bench-go", bench.options().go_client,
                                      std::vector<std::string>{"--park", "--cpu", "-1", "--busy", "4"});
                                }};
const MeasureSpec kNopRttC{.name = "nop_rtt_c",
                           .unit = "ns",
                           .what = "NOP round trip, client of the C interface to engine",
                           .better = Better::lower,
                           .aim = {Aim::ratio_at_most, 1.8},
                           .make = [](Bench& bench) {
                             return std::make_unique<NopRttProgram>(bench, "ring-bench-c", bench.options().c_client);
                           }};

}  // namespace rde::tools
