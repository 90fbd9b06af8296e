// idle_cpu: what an engine with an idle client uses of a processor.
#include "bench/bench.h"
#include "bench/measures.h"
#include "client/client.h"

namespace rde::tools {
namespace {

class IdleCpu final : public Measure {
 public:
  explicit IdleCpu(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    const auto engine = bench_.sleeping_engine();
    if (!engine) return engine.error();
    if (!client_) {
      auto client = Client::attach({.socket = (*engine)->socket(), .name = "ring-bench", .channels = 1, .depth = 8});
      if (!client) return client.error();
      client_ = std::move(*client);
    }
    rest(kSecond / 10);
    const auto before = (*engine)->processor_time();
    const Nanoseconds start = now_ns();
    rest(length);
    const Nanoseconds took = now_ns() - start;
    const auto after = (*engine)->processor_time();
    if (!before || !after) return before ? after.error() : before.error();
    return Round{.samples = {100.0 * static_cast<double>(*after - *before) / static_cast<double>(took)},
                 .reference = {}};
  }

 private:
  static void rest(Nanoseconds length) {
    timespec time{static_cast<time_t>(length / kSecond), static_cast<long>(length % kSecond)};
    while (nanosleep(&time, &time) != 0) {
    }
  }

  Bench& bench_;
  std::unique_ptr<Client> client_;
};

}  // namespace

const MeasureSpec kIdleCpu{.name = "idle_cpu",
                           .unit = "%",
                           .what = "of a processor, used by an engine that has nothing to do",
                           .better = Better::lower,
                           .aim = {Aim::value_at_most, 1},
                           .make = [](Bench& bench) { return std::make_unique<IdleCpu>(bench); }};

}  // namespace rde::tools
