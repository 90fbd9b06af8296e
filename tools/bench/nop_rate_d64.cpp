// nop_rate_d64: NOPs per second on one channel with 64 of them outstanding.
#include "bench/bench.h"
#include "bench/measures.h"
#include "client/client.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kOutstanding = 64;
constexpr std::uint32_t kRing = 128;  // beside the 64, two credits are kept for CANCEL
constexpr Nanoseconds kWindow = 5 * kMillisecond;

class NopRate final : public Measure {
 public:
  explicit NopRate(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    if (!client_) {
      auto attached = attach();
      if (!attached) return attached.error();
    }
    Round round;
    // As operations per second, so that the ratio tells how much more than one at a time a channel does.
    for (const double nanoseconds : bench_.pingpong(length / 2)) round.reference.push_back(1e9 / nanoseconds);
    const Nanoseconds end = now_ns() + length;
    std::uint64_t done = 0;
    for (Nanoseconds start = now_ns(); start < end;) {
      auto some = turn();
      if (!some) return some.error();
      done += *some;
      const Nanoseconds now = now_ns();
      if (now - start < kWindow) continue;
      round.samples.push_back(static_cast<double>(done) * 1e9 / static_cast<double>(now - start));
      start = now;
      done = 0;
    }
    return drain(std::move(round));
  }

 private:
  Result<void> attach() {
    auto socket = bench_.engine_socket();
    if (!socket) return socket.error();
    auto client = Client::attach({.socket = *socket, .name = "ring-bench", .channels = 1, .depth = kRing});
    if (!client) return client.error();
    client_ = std::move(*client);
    return {};
  }

  // Fills the ring up, and takes answers for a while.
  Result<std::uint64_t> turn() {
    Channel& channel = client_->channel(0);
    Reaped reaped;
    std::uint64_t done = 0;
    for (unsigned i = 0; i < 256; ++i) {
      const std::uint32_t before = channel.outstanding();
      while (channel.outstanding() < kOutstanding) {
        if (auto tag = channel.stage({.op = RDE_OP_NOP}); !tag) return tag.error();
      }
      if (before < kOutstanding) channel.flush();
      while (channel.reap(reaped)) {
        if (reaped.status != Status::ok) return Error{reaped.status, "NOP: " + std::string(name_of(reaped.status))};
        ++done;
      }
    }
    if (done == 0 && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
    return done;
  }

  Result<Round> drain(Round round) {
    Channel& channel = client_->channel(0);
    Reaped reaped;
    while (channel.outstanding() > 0) {
      if (!channel.reap(reaped) && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
    }
    return round;
  }

  Bench& bench_;
  std::unique_ptr<Client> client_;
};

}  // namespace

const MeasureSpec kNopRateD64{.name = "nop_rate_d64",
                              .unit = "op/s",
                              .what = "NOPs per second, one channel, 64 outstanding",
                              .better = Better::higher,
                              .aim = {Aim::value_at_least, 20e6},
                              .make = [](Bench& bench) { return std::make_unique<NopRate>(bench); }};

}  // namespace rde::tools
