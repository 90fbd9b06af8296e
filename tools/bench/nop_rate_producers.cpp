// nop_rate_pN: NOPs per second of N threads of one client, each with a channel of its own and 64 outstanding. All
// threads are on the client's processor: the measure is what more channels cost, not what more processors bring.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/producers.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;
constexpr unsigned kTurns = 2;  // of both in a round: long enough for each thread to have its turns

class ProducerRate final : public Measure {
 public:
  ProducerRate(Bench& bench, unsigned threads) : bench_(bench), threads_(threads) {}

  Result<Round> round(Nanoseconds length) override {
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    Round round;
    for (unsigned turn = 0; turn < kTurns; ++turn) {
      if (auto taken = take((*engine)->socket(), one_, 1, length / kTurns / 2, round.reference); !taken)
        return taken.error();
      if (auto taken = take((*engine)->socket(), all_, threads_, length / kTurns, round.samples); !taken)
        return taken.error();
    }
    return round;
  }

 private:
  Result<void> take(const std::string& socket, std::optional<Producers>& producers, unsigned threads,
                    Nanoseconds length, std::vector<double>& to) {
    if (!producers) {
      auto attached = Producers::attach(socket, threads, kOutstanding);
      if (!attached) return attached.error();
      producers.emplace(std::move(*attached));
    }
    const auto rate = producers->rate(length, bench_.placement().client);
    if (!rate) return rate.error();
    if (*rate > 0) to.push_back(*rate);
    return {};
  }

  Bench& bench_;
  unsigned threads_;
  std::optional<Producers> one_;
  std::optional<Producers> all_;
};

MeasureSpec spec(std::string_view name, std::string_view what, unsigned threads) {
  return {
      .name = name, .unit = "op/s", .what = what, .better = Better::higher, .aim = {}, .make = [threads](Bench& bench) {
        return std::make_unique<ProducerRate>(bench, threads);
      }};
}

}  // namespace

const MeasureSpec kNopRateP1 = spec("nop_rate_p1", "NOPs per second of 1 thread with 64 outstanding", 1);
const MeasureSpec kNopRateP2 = spec("nop_rate_p2", "the same of 2 threads on one processor, against 1 thread", 2);
const MeasureSpec kNopRateP4 = spec("nop_rate_p4", "the same of 4 threads", 4);
const MeasureSpec kNopRateP8 = spec("nop_rate_p8", "the same of 8 threads", 8);
const MeasureSpec kNopRateP16 = spec("nop_rate_p16", "the same of 16 threads", 16);
const MeasureSpec kNopRateP32 = spec("nop_rate_p32", "the same of 32 threads", 32);
const MeasureSpec kNopRateP64 = spec("nop_rate_p64", "the same of 64 threads", 64);

}  // namespace rde::tools
