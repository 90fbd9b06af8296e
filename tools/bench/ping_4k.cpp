// ping_4k: a PING with 4 KiB: the client fills the buffer, the engine reads every line of it and answers its CRC.
// ping_4k_rate: as many a second as there are with 64 outstanding.
#include <algorithm>
#include <array>
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/ping_stream.h"
#include "bench/round_trips.h"
#include "bench/stream_rate.h"

namespace rde::tools {
namespace {

class Ping4k final : public Measure {
 public:
  explicit Ping4k(Bench& bench) : bench_(bench), crcs_(crcs_of_filled_pages()) {}

  Result<Round> round(Nanoseconds length) override {
    Round round;
    round.reference = bench_.pingpong(length / 2);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    if (!trips_) {
      auto attached = RoundTrips::attach((*engine)->socket());
      if (!attached) return attached.error();
      buffer_ = attached->client().allocate(kPingBytes);
      if (!buffer_) return Error{Status::out_of_buffers, "no buffer of 4 KiB"};
      trips_.emplace(std::move(*attached));
    }
    auto samples = trips_->run(length, [this] { return next(); });
    if (!samples) return samples.error().in("PING");
    if (wrong_ != 0) return Error{Status::operation_failed, std::to_string(wrong_) + " answers had a wrong CRC"};
    round.samples = std::move(*samples);
    return round;
  }

 private:
  rde_request next() {
    // The answer to the one before; the first has none.
    if (filled_ && trips_->last().crc != crcs_[value_]) ++wrong_;
    filled_ = true;
    ++value_;
    std::ranges::fill(buffer_->bytes, std::byte{value_});
    return {.op = RDE_OP_PING, .buffer_page = buffer_->page, .length = kPingBytes};
  }

  Bench& bench_;
  std::array<std::uint32_t, 256> crcs_;
  std::optional<RoundTrips> trips_;
  std::optional<Buffer> buffer_;
  std::uint8_t value_ = 0;
  bool filled_ = false;
  unsigned wrong_ = 0;
};

}  // namespace

const MeasureSpec kPing4k{.name = "ping_4k",
                          .unit = "ns",
                          .what = "PING with 4 KiB that the client fills and the engine reads",
                          .better = Better::lower,
                          .aim = {},
                          .make = [](Bench& bench) { return std::make_unique<Ping4k>(bench); }};
const MeasureSpec kPing4kRate{.name = "ping_4k_rate",
                              .unit = "op/s",
                              .what = "the same as operations per second, 64 outstanding",
                              .better = Better::higher,
                              .aim = {},
                              .make = [](Bench& bench) { return std::make_unique<StreamRate<PingStream>>(bench, 64); }};

}  // namespace rde::tools
