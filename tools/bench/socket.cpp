// socket_rtt and socket_rate: a NOP over a ring against a Ping over the older socket of the same engine. The engine is
// the default one, adaptive: while the socket is measured its polling core sleeps, and the socket's thread has the
// processor.
#include <optional>

#include "bench/bench.h"
#include "bench/door_client.h"
#include "bench/measures.h"
#include "bench/nops.h"
#include "bench/round_trips.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;
// The door answers each client in order: with several that pipeline it always has a batch to read.
constexpr unsigned kClients = 4;
constexpr unsigned kOutstandingOfEach = 32;
constexpr Nanoseconds kFallAsleep = 20 * kMillisecond;

class SocketMeasure : public Measure {
 public:
  explicit SocketMeasure(Bench& bench) : bench_(bench) {}

 protected:
  Result<EngineProcess*> engine() {
    const auto folder = bench_.folder();
    if (!folder) return folder.error();
    path_ = *folder + "/door.ipc";
    return bench_.engine({.name = "door",
                          .arguments = {"--poll", "adaptive", "--cores", std::to_string(bench_.placement().engine),
                                        "--ipc-socket", path_}});
  }
  Result<void> connect(unsigned clients) {
    while (doors_.size() < clients) {
      auto door = DoorClient::connect(path_);
      if (!door) return door.error();
      doors_.push_back(std::move(*door));
    }
    const timespec time{0, static_cast<long>(kFallAsleep)};
    nanosleep(&time, nullptr);
    return {};
  }

  std::vector<std::unique_ptr<DoorClient>> doors_;

 private:
  Bench& bench_;
  std::string path_;
};

class SocketRtt final : public SocketMeasure {
 public:
  using SocketMeasure::SocketMeasure;
  Result<Round> round(Nanoseconds length) override {
    const auto engine = this->engine();
    if (!engine) return engine.error();
    if (auto connected = connect(1); !connected) return connected.error();
    auto reference = doors_.front()->round_trips(length / 2);
    if (!reference) return reference.error();
    if (!trips_) {
      auto attached = RoundTrips::attach((*engine)->socket());
      if (!attached) return attached.error();
      trips_.emplace(std::move(*attached));
    }
    auto samples = trips_->run_nops(length);
    if (!samples) return samples.error();
    return Round{.samples = std::move(*samples), .reference = std::move(*reference)};
  }

 private:
  std::optional<RoundTrips> trips_;
};

class SocketRate final : public SocketMeasure {
 public:
  using SocketMeasure::SocketMeasure;
  Result<Round> round(Nanoseconds length) override {
    const auto engine = this->engine();
    if (!engine) return engine.error();
    if (auto connected = connect(kClients); !connected) return connected.error();
    // The client sleeps here whenever it has to wait, so its being off its processor is part of what is measured.
    auto reference = DoorClient::rate(doors_, kOutstandingOfEach, length / 2, nullptr);
    if (!reference) return reference.error();
    if (!nops_) {
      auto attached = NopStream::attach((*engine)->socket(), kOutstanding);
      if (!attached) return attached.error();
      nops_.emplace(std::move(*attached));
    }
    SwitchWatch watch(0);
    auto rate = nops_->rate(length, &watch);
    if (!rate) return rate.error();
    return Round{.samples = std::move(rate->samples),
                 .reference = std::move(reference->samples),
                 .note = {},
                 .dropped = rate->dropped};
  }

 private:
  std::optional<NopStream> nops_;
};

}  // namespace

const MeasureSpec kSocketRtt{.name = "socket_rtt",
                             .unit = "ns",
                             .what = "NOP over a ring, against a Ping over the older socket of the same engine",
                             .better = Better::lower,
                             .aim = {Aim::ratio_at_most, 0.02},
                             .make = [](Bench& bench) { return std::make_unique<SocketRtt>(bench); }};
const MeasureSpec kSocketRate{.name = "socket_rate",
                              .unit = "op/s",
                              .what = "NOPs per second, 64 outstanding, against Pings of 4 clients of that socket",
                              .better = Better::higher,
                              .aim = {Aim::ratio_at_least, 50},
                              .make = [](Bench& bench) { return std::make_unique<SocketRate>(bench); }};

}  // namespace rde::tools
