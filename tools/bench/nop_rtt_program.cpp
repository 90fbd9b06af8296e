// nop_rtt_go and nop_rtt_c: the same as nop_rtt_cpp, from clients in Go and in C, which run as programs of their own.
#include "bench/measures.h"
#include "bench/sampler.h"

namespace rde::tools {
namespace {

class NopRttProgram final : public Measure {
 public:
  NopRttProgram(Bench& bench, std::string name, std::string program)
      : bench_(bench), name_(std::move(name)), program_(std::move(program)) {}

  Result<Round> round(Nanoseconds length) override {
    if (program_.empty()) return not_built(name_);
    Round round;
    round.reference = bench_.pingpong(length / 2);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    auto samples =
        run_sampler(bench_,
                    {program_, "--socket", (*engine)->socket(), "--cpu", std::to_string(bench_.placement().client),
                     "--milliseconds", std::to_string(length / kMillisecond)},
                    length);
    if (!samples) return samples.error();
    round.samples = std::move((*samples)["samples"]);
    return round;
  }

 private:
  Bench& bench_;
  std::string name_;
  std::string program_;
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
const MeasureSpec kNopRttC{.name = "nop_rtt_c",
                           .unit = "ns",
                           .what = "NOP round trip, client of the C interface to engine",
                           .better = Better::lower,
                           .aim = {Aim::ratio_at_most, 1.8},
                           .make = [](Bench& bench) {
                             return std::make_unique<NopRttProgram>(bench, "ring-bench-c", bench.options().c_client);
                           }};

}  // namespace rde::tools
