// session_rate: sessions opened and closed per second by one client, 64 requests outstanding.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/session_stream.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;

class SessionRate final : public Measure {
 public:
  explicit SessionRate(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    Round round;
    for (const double nanoseconds : bench_.pingpong(length / 2)) round.reference.push_back(1e9 / nanoseconds);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    if (!sessions_) {
      auto attached = SessionStream::attach((*engine)->socket(), kOutstanding);
      if (!attached) return attached.error();
      sessions_.emplace(std::move(*attached));
    }
    SwitchWatch watch((*engine)->pid());
    auto rate = sessions_->rate(length, &watch);
    if (!rate) return rate.error();
    round.samples = std::move(rate->samples);
    round.dropped = rate->dropped;
    return round;
  }

 private:
  Bench& bench_;
  std::optional<SessionStream> sessions_;
};

}  // namespace

const MeasureSpec kSessionRate{.name = "session_rate",
                               .unit = "op/s",
                               .what = "sessions opened and closed per second, 64 requests outstanding",
                               .better = Better::higher,
                               .aim = {Aim::value_at_least, 2e6},
                               .make = [](Bench& bench) { return std::make_unique<SessionRate>(bench); }};

}  // namespace rde::tools
