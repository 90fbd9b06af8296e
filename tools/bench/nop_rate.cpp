// nop_rate_dN: NOPs per second on one channel with N of them outstanding.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/nops.h"

namespace rde::tools {
namespace {

class NopRate final : public Measure {
 public:
  NopRate(Bench& bench, std::uint32_t outstanding) : bench_(bench), outstanding_(outstanding) {}

  Result<Round> round(Nanoseconds length) override {
    Round round;
    // As operations per second, so that the ratio tells how much more than one at a time a channel does.
    for (const double nanoseconds : bench_.pingpong(length / 2)) round.reference.push_back(1e9 / nanoseconds);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    if (!nops_) {
      auto attached = NopStream::attach((*engine)->socket(), outstanding_);
      if (!attached) return attached.error();
      nops_.emplace(std::move(*attached));
    }
    SwitchWatch watch((*engine)->pid());
    auto rate = nops_->rate(length, &watch);
    if (!rate) return rate.error();
    round.samples = std::move(rate->samples);
    round.dropped = rate->dropped;
    return round;
  }

 private:
  Bench& bench_;
  std::uint32_t outstanding_;
  std::optional<NopStream> nops_;
};

MeasureSpec spec(std::string_view name, std::string_view what, std::uint32_t outstanding, Aim aim) {
  return {.name = name,
          .unit = "op/s",
          .what = what,
          .better = Better::higher,
          .aim = aim,
          .make = [outstanding](Bench& bench) { return std::make_unique<NopRate>(bench, outstanding); }};
}

}  // namespace

const MeasureSpec kNopRateD1 = spec("nop_rate_d1", "NOPs per second, one channel, 1 outstanding", 1, {});
const MeasureSpec kNopRateD8 = spec("nop_rate_d8", "the same with 8 outstanding", 8, {});
const MeasureSpec kNopRateD64 = spec("nop_rate_d64", "the same with 64 outstanding", 64, {Aim::value_at_least, 30e6});
const MeasureSpec kNopRateD1024 = spec("nop_rate_d1024", "the same with 1,024 outstanding", 1'024, {});

}  // namespace rde::tools
