// How many operations a second a stream of one client does, at an engine that spins.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "bench/bench.h"
#include "bench/switch_watch.h"

namespace rde::tools {

// Stream: NopStream or one like it.
template <class Stream>
class StreamRate final : public Measure {
 public:
  StreamRate(Bench& bench, std::uint32_t outstanding) : bench_(bench), outstanding_(outstanding) {}

  Result<Round> round(Nanoseconds length) override {
    Round round;
    // As operations per second, so that the ratio tells how much more than one at a time a channel does.
    for (const double nanoseconds : bench_.pingpong(length / 2)) round.reference.push_back(1e9 / nanoseconds);
    const auto engine = bench_.spinning_engine();
    if (!engine) return engine.error();
    if (!stream_) {
      auto attached = Stream::attach((*engine)->socket(), outstanding_);
      if (!attached) return attached.error();
      stream_.emplace(std::move(*attached));
    }
    SwitchWatch watch((*engine)->pid());
    auto rate = stream_->rate(length, &watch);
    if (!rate) return rate.error();
    round.samples = std::move(rate->samples);
    round.dropped = rate->dropped;
    return round;
  }

 private:
  Bench& bench_;
  std::uint32_t outstanding_;
  std::optional<Stream> stream_;
};

}  // namespace rde::tools
