// idle_1000, idle_4000, idle_clients_1000: what idle channels, and idle clients, cost a NOP round trip. Two engines: at
// one, nothing is idle.
#include <sys/resource.h>

#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/round_trips.h"

namespace rde::tools {
namespace {

constexpr unsigned kTurns = 8;  // of each engine in a round

struct Idle {
  std::string name;
  std::uint32_t channels = 0;  // of the client that is measured
  std::uint32_t clients = 0;   // beside it
};

// Three descriptors for each client, here and in the engine, which inherits the limit.
void allow_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

class IdleCost final : public Measure {
 public:
  IdleCost(Bench& bench, Idle idle) : bench_(bench), idle_(std::move(idle)) {}

  Result<Round> round(Nanoseconds length) override {
    // Anew in each round: where the pages of a segment lie makes a difference of its own.
    alone_.reset();
    busy_.reset();
    if (auto attached = attach(); !attached) return attached.error();
    Round round;
    for (unsigned turn = 0; turn < kTurns; ++turn) {
      if (auto taken = take("spin", *alone_, length / kTurns / 2, round.reference); !taken) return taken.error();
      if (auto taken = take(idle_.name, *busy_, length / kTurns, round.samples); !taken) return taken.error();
    }
    return round;
  }

 private:
  Result<EngineProcess*> engine(const std::string& name) {
    return bench_.engine({.name = name,
                          .arguments = {"--poll", "spin", "--cores", std::to_string(bench_.placement().engine)},
                          .spins = true});
  }

  Result<void> take(const std::string& name, RoundTrips& trips, Nanoseconds length, std::vector<double>& to) {
    if (const auto running = engine(name); !running) return running.error();
    const auto samples = trips.run_nops(length);
    if (!samples) return samples.error().in("NOP");
    to.insert(to.end(), samples->begin(), samples->end());
    return {};
  }

  Result<void> attach() {
    allow_descriptors();
    const auto alone = bench_.spinning_engine();
    if (!alone) return alone.error();
    auto first = RoundTrips::attach((*alone)->socket());
    if (!first) return first.error();
    const auto crowded = engine(idle_.name);
    if (!crowded) return crowded.error();
    while (clients_.size() < idle_.clients) {
      auto client = Client::attach(
          {.socket = (*crowded)->socket(), .name = "idle", .segment_size = RDE_MIN_SEGMENT, .channels = 1, .depth = 8});
      if (!client) return client.error().in("idle client " + std::to_string(clients_.size()));
      clients_.push_back(std::move(*client));
    }
    auto second = RoundTrips::attach((*crowded)->socket(), idle_.channels);
    if (!second) return second.error();
    alone_.emplace(std::move(*first));
    busy_.emplace(std::move(*second));
    // Long enough for the idle ones to be left to their doorbells.
    return busy_->run_nops(kSecond / 2) ? Result<void>{} : Error{Status::operation_failed, "the warm-up failed"};
  }

  Bench& bench_;
  Idle idle_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::optional<RoundTrips> alone_;
  std::optional<RoundTrips> busy_;
};

MeasureSpec spec(std::string_view name, std::string_view what, const Idle& idle) {
  return {.name = name,
          .unit = "ns",
          .what = what,
          .better = Better::lower,
          .aim = {Aim::ratio_at_most, 1.05},
          .make = [idle](Bench& bench) { return std::make_unique<IdleCost>(bench, idle); }};
}

}  // namespace

const MeasureSpec kIdle1000 =
    spec("idle_1000", "NOP round trip of a client with 1,000 idle channels, against one without",
         {.name = "idle-1000", .channels = 1'001, .clients = 0});
const MeasureSpec kIdle4000 =
    spec("idle_4000", "the same with 4,000 idle channels", {.name = "idle-4000", .channels = 4'001, .clients = 0});
const MeasureSpec kIdleClients1000 = spec("idle_clients_1000", "the same with 1,000 idle clients of 2 MiB each",
                                          {.name = "idle-clients", .channels = 1, .clients = 1'000});

}  // namespace rde::tools
