// nop_rtt_cpp: a NOP from the C++ client to the engine and back, one at a time.
#include "bench/bench.h"
#include "bench/measures.h"
#include "client/client.h"

namespace rde::tools {
namespace {

constexpr unsigned kBatch = 256;

class NopRtt final : public Measure {
 public:
  explicit NopRtt(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    if (!client_) {
      auto attached = attach();
      if (!attached) return attached.error();
    }
    Round round;
    round.reference = bench_.pingpong(length / 2);
    Channel& channel = client_->channel(0);
    // The first batch brings the lines near and ends the pause of the engine.
    if (auto warm = batch(channel); !warm) return warm.error();
    const Nanoseconds end = now_ns() + length;
    for (Nanoseconds start = now_ns(); start < end;) {
      if (auto done = batch(channel); !done) return done.error();
      const Nanoseconds now = now_ns();
      round.samples.push_back(static_cast<double>(now - start) / kBatch);
      start = now;
    }
    return round;
  }

 private:
  Result<void> attach() {
    auto socket = bench_.engine_socket();
    if (!socket) return socket.error();
    auto client = Client::attach({.socket = *socket, .name = "ring-bench", .channels = 1, .depth = 8});
    if (!client) return client.error();
    client_ = std::move(*client);
    return {};
  }

  Result<void> batch(Channel& channel) {
    Reaped reaped;
    for (unsigned i = 0; i < kBatch; ++i) {
      if (auto tag = channel.submit({.op = RDE_OP_NOP}); !tag) return tag.error();
      for (unsigned turn = 1; !channel.reap(reaped); ++turn) {
        if ((turn & 0xFFFFF) == 0 && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
      }
      if (reaped.status != Status::ok) return Error{reaped.status, "NOP: " + std::string(name_of(reaped.status))};
    }
    return {};
  }

  Bench& bench_;
  std::unique_ptr<Client> client_;
};

}  // namespace

const MeasureSpec kNopRttCpp{.name = "nop_rtt_cpp",
                             .unit = "ns",
                             .what = "NOP round trip, C++ client to engine",
                             .better = Better::lower,
                             .aim = {Aim::ratio_at_most, 1.6},
                             .make = [](Bench& bench) { return std::make_unique<NopRtt>(bench); }};

}  // namespace rde::tools
