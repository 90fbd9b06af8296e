#include "bench/session_stream.h"

#include <bit>

#include "client/session.h"

namespace rde::tools {
namespace {

// What a request's completion belongs to.
constexpr std::uint64_t kOpen = 0, kClose = 1;
constexpr unsigned kPollsPerTurn = 64;

}  // namespace

Result<SessionStream> SessionStream::attach(const std::string& socket, std::uint32_t outstanding) {
  // Beside them, credits are kept for CANCEL.
  const std::uint32_t depth = std::bit_ceil(outstanding + RDE_RESERVED_CREDITS);
  auto client = Client::attach({.socket = socket, .name = "ring-bench", .channels = 1, .depth = depth});
  if (!client) return client.error();
  return SessionStream(std::move(*client), outstanding);
}

// What is open is closed before more is opened.
Result<void> SessionStream::submit(bool may_open) {
  Channel& channel = client_->channel(0);
  bool any = false;
  while (channel.outstanding() < outstanding_ && (may_open || !open_.empty())) {
    const bool close = !open_.empty();
    const auto tag = close ? channel.stage(close_session_request(open_.back()), kClose)
                           : channel.stage(open_session_request(), kOpen);
    if (!tag) return tag.error();
    if (close) open_.pop_back();
    any = true;
  }
  if (any) channel.flush();
  return {};
}

Result<void> SessionStream::take_answers() {
  Channel& channel = client_->channel(0);
  Reaped reaped;
  while (channel.reap(reaped)) {
    if (reaped.status != Status::ok) {
      return Error{reaped.status, std::string(reaped.user == kOpen ? "SESSION_OPEN" : "SESSION_CLOSE") + ": " +
                                      std::string(name_of(reaped.status))};
    }
    if (reaped.user == kOpen) {
      open_.push_back(reaped.value);
    } else {
      ++closed_;
    }
  }
  return {};
}

Result<void> SessionStream::turn(bool may_open) {
  const std::uint64_t before = closed_;
  for (unsigned i = 0; i < kPollsPerTurn; ++i) {
    if (auto sent = submit(may_open); !sent) return sent;
    if (auto taken = take_answers(); !taken) return taken;
  }
  if (closed_ == before && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
  return {};
}

Result<Rate> SessionStream::rate(Nanoseconds length, SwitchWatch* watch) {
  auto rate = windows_of(
      length, watch, [this] { return closed_; }, [this] { return turn(true); });
  if (!rate) return rate;
  while (client_->channel(0).outstanding() != 0 || !open_.empty()) {
    if (auto turned = turn(false); !turned) return turned.error();
  }
  return rate;
}

}  // namespace rde::tools
