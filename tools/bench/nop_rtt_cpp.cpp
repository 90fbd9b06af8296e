// nop_rtt_cpp: a NOP from the C++ client to the engine and back, one at a time.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/round_trips.h"

namespace rde::tools {
namespace {

class NopRtt final : public Measure {
 public:
  explicit NopRtt(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    Round round;
    round.reference = bench_.pingpong(length / 2);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    if (!trips_) {
      auto attached = RoundTrips::attach((*engine)->socket());
      if (!attached) return attached.error();
      trips_.emplace(std::move(*attached));
    }
    auto samples = trips_->run_nops(length);
    if (!samples) return samples.error().in("NOP");
    round.samples = std::move(*samples);
    return round;
  }

 private:
  Bench& bench_;
  std::optional<RoundTrips> trips_;
};

}  // namespace

const MeasureSpec kNopRttCpp{.name = "nop_rtt_cpp",
                             .unit = "ns",
                             .what = "NOP round trip, C++ client to engine",
                             .better = Better::lower,
                             .aim = {Aim::ratio_at_most, 1.6},
                             .make = [](Bench& bench) { return std::make_unique<NopRtt>(bench); }};

}  // namespace rde::tools
