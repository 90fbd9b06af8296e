#include "bench/nops.h"

#include <bit>

namespace rde::tools {
Result<NopStream> NopStream::attach(const std::string& socket, std::uint32_t outstanding) {
  // Beside them, credits are kept for CANCEL.
  const std::uint32_t depth = std::bit_ceil(outstanding + RDE_RESERVED_CREDITS);
  auto client = Client::attach({.socket = socket, .name = "ring-bench", .channels = 1, .depth = depth});
  if (!client) return client.error();
  return NopStream(std::move(*client), outstanding);
}

// Fills the ring up, and takes answers for a while.
Result<void> NopStream::turn() {
  Channel& channel = client_->channel(0);
  const std::uint64_t before = done_;
  Reaped reaped;
  for (unsigned i = 0; i < 64; ++i) {
    const bool room = channel.outstanding() < outstanding_;
    while (channel.outstanding() < outstanding_) {
      if (auto tag = channel.stage({.op = RDE_OP_NOP}); !tag) return tag.error();
    }
    if (room) channel.flush();
    while (channel.reap(reaped)) {
      if (reaped.status != Status::ok) return Error{reaped.status, "NOP: " + std::string(name_of(reaped.status))};
      ++done_;
    }
  }
  if (done_ == before && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
  return {};
}

Result<Rate> NopStream::rate(Nanoseconds length, SwitchWatch* watch) {
  auto rate = windows_of(
      length, watch, [this] { return done_; }, [this] { return turn(); });
  if (!rate) return rate;
  if (auto drained = drain(); !drained) return drained.error();
  return rate;
}

Result<void> NopStream::drain() {
  Channel& channel = client_->channel(0);
  Reaped reaped;
  for (unsigned turn = 1; channel.outstanding() > 0; ++turn) {
    if (channel.reap(reaped)) {
      ++done_;
    } else if ((turn & 0xFFFFF) == 0 && client_->engine_gone()) {
      return Error{Status::engine_gone, "the engine ended"};
    }
  }
  return {};
}

}  // namespace rde::tools
