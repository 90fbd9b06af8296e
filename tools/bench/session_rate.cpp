// session_rate: sessions opened and closed per second by one client, 64 requests outstanding.
#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/session_stream.h"
#include "bench/stream_rate.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;

}  // namespace

const MeasureSpec kSessionRate{
    .name = "session_rate",
    .unit = "op/s",
    .what = "sessions opened and closed per second, 64 requests outstanding",
    .better = Better::higher,
    .aim = {Aim::value_at_least, 2e6},
    .make = [](Bench& bench) { return std::make_unique<StreamRate<SessionStream>>(bench, kOutstanding); }};

}  // namespace rde::tools
