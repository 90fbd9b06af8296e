// nop_rate_dN: NOPs per second on one channel with N of them outstanding.
#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/nops.h"
#include "bench/stream_rate.h"

namespace rde::tools {
namespace {

MeasureSpec spec(std::string_view name, std::string_view what, std::uint32_t outstanding, Aim aim) {
  return {.name = name,
          .unit = "op/s",
          .what = what,
          .better = Better::higher,
          .aim = aim,
          .make = [outstanding](Bench& bench) { return std::make_unique<StreamRate<NopStream>>(bench, outstanding); }};
}

}  // namespace

const MeasureSpec kNopRateD1 = spec("nop_rate_d1", "NOPs per second, one channel, 1 outstanding", 1, {});
const MeasureSpec kNopRateD8 = spec("nop_rate_d8", "the same with 8 outstanding", 8, {});
const MeasureSpec kNopRateD64 = spec("nop_rate_d64", "the same with 64 outstanding", 64, {Aim::value_at_least, 30e6});
const MeasureSpec kNopRateD1024 = spec("nop_rate_d1024", "the same with 1,024 outstanding", 1'024, {});

}  // namespace rde::tools
