// Round trips of one client on one channel, one at a time.
//
//   auto trips = RoundTrips::attach(engine->socket(), 1);
//   auto samples = trips->run(length, [](Client&) { return rde_request{.op = RDE_OP_NOP}; });
#pragma once

#include <memory>
#include <vector>

#include "client/client.h"

namespace rde::tools {

inline constexpr unsigned kTripsPerSample = 256;

class RoundTrips {
 public:
  // A client with so many channels; the first is used. `segment_size` 0: the engine's default.
  static Result<RoundTrips> attach(const std::string& socket, std::uint32_t channels = 1,
                                   std::uint64_t segment_size = 0);

  // Nanoseconds a round trip, means of kTripsPerSample in a row. `prepare` makes each request. Errors: what the engine
  // answers, engine_gone.
  template <class Prepare>
  Result<std::vector<double>> run(Nanoseconds length, Prepare prepare) {
    std::vector<double> samples;
    // The first batch brings the lines near and ends a pause of the engine.
    if (auto warm = batch(prepare); !warm) return warm.error();
    const Nanoseconds end = now_ns() + length;
    for (Nanoseconds start = now_ns(); start < end;) {
      if (auto done = batch(prepare); !done) return done.error();
      const Nanoseconds now = now_ns();
      samples.push_back(static_cast<double>(now - start) / kTripsPerSample);
      start = now;
    }
    return samples;
  }
  Result<std::vector<double>> run_nops(Nanoseconds length) {
    return run(length, [] { return rde_request{.op = RDE_OP_NOP}; });
  }
  [[nodiscard]] Client& client() { return *client_; }
  // Of the last round trip.
  [[nodiscard]] const Reaped& last() const { return reaped_; }

 private:
  explicit RoundTrips(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  template <class Prepare>
  Result<void> batch(Prepare& prepare) {
    Channel& channel = client_->channel(0);
    for (unsigned i = 0; i < kTripsPerSample; ++i) {
      if (auto tag = channel.submit(prepare()); !tag) return tag.error();
      for (unsigned turn = 1; !channel.reap(reaped_); ++turn) {
        if ((turn & 0xFFFFF) == 0 && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
      }
      if (reaped_.status != Status::ok)
        return Error{reaped_.status, "it answered " + std::string(name_of(reaped_.status))};
    }
    return {};
  }

  std::unique_ptr<Client> client_;
  Reaped reaped_;
};

inline Result<RoundTrips> RoundTrips::attach(const std::string& socket, std::uint32_t channels,
                                             std::uint64_t segment_size) {
  auto client = Client::attach(
      {.socket = socket, .name = "ring-bench", .segment_size = segment_size, .channels = channels, .depth = 8});
  if (!client) return client.error();
  return RoundTrips(std::move(*client));
}

}  // namespace rde::tools
