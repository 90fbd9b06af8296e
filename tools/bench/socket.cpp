// socket_rtt and socket_rate: a Unix socket against a ring of the engine. The other end is a plain echo, the least that
// a protocol over a socket can cost; what speaks one is slower, so this has no verdict.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/nops.h"
#include "bench/round_trips.h"
#include "bench/unix_echo.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;

class SocketMeasure : public Measure {
 public:
  explicit SocketMeasure(Bench& bench) : bench_(bench) {}

 protected:
  Result<UnixEcho*> socket() {
    bench_.quiet();
    if (!echo_) {
      auto started = UnixEcho::start(bench_.placement());
      if (!started) return started.error();
      echo_ = std::move(*started);
    }
    return echo_.get();
  }
  Result<EngineProcess*> engine() { return bench_.spinning_engine(); }

 private:
  Bench& bench_;
  std::unique_ptr<UnixEcho> echo_;
};

class SocketRtt final : public SocketMeasure {
 public:
  using SocketMeasure::SocketMeasure;
  Result<Round> round(Nanoseconds length) override {
    const auto other = socket();
    if (!other) return other.error();
    auto samples = (*other)->round_trips(length);
    if (!samples) return samples.error();
    const auto engine = this->engine();
    if (!engine) return engine.error();
    if (!trips_) {
      auto attached = RoundTrips::attach((*engine)->socket());
      if (!attached) return attached.error();
      trips_.emplace(std::move(*attached));
    }
    auto reference = trips_->run_nops(length / 2);
    if (!reference) return reference.error();
    return Round{.samples = std::move(*samples), .reference = std::move(*reference)};
  }

 private:
  std::optional<RoundTrips> trips_;
};

class SocketRate final : public SocketMeasure {
 public:
  using SocketMeasure::SocketMeasure;
  Result<Round> round(Nanoseconds length) override {
    const auto other = socket();
    if (!other) return other.error();
    auto samples = (*other)->rate(length, kOutstanding);
    if (!samples) return samples.error();
    const auto engine = this->engine();
    if (!engine) return engine.error();
    if (!nops_) {
      auto attached = NopStream::attach((*engine)->socket(), kOutstanding);
      if (!attached) return attached.error();
      nops_.emplace(std::move(*attached));
    }
    auto reference = nops_->rate(length / 2);
    if (!reference) return reference.error();
    return Round{.samples = std::move(*samples), .reference = std::move(*reference)};
  }

 private:
  std::optional<NopStream> nops_;
};

}  // namespace

const MeasureSpec kSocketRtt{.name = "socket_rtt",
                             .unit = "ns",
                             .what = "64 bytes to a plain echo over a Unix socket and back, against a NOP over a ring",
                             .better = Better::lower,
                             .aim = {},
                             .make = [](Bench& bench) { return std::make_unique<SocketRtt>(bench); }};
const MeasureSpec kSocketRate{.name = "socket_rate",
                              .unit = "op/s",
                              .what = "the same in operations per second, 64 outstanding",
                              .better = Better::higher,
                              .aim = {},
                              .make = [](Bench& bench) { return std::make_unique<SocketRate>(bench); }};

}  // namespace rde::tools
