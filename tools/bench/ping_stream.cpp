#include "bench/ping_stream.h"

#include <algorithm>
#include <bit>

#include "base/crc32c.h"

namespace rde::tools {
namespace {

constexpr unsigned kPollsPerTurn = 64;

}  // namespace

std::array<std::uint32_t, 256> crcs_of_filled_pages() {
  std::array<std::uint32_t, 256> crcs;
  std::array<std::byte, kPingBytes> page;
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    page.fill(std::byte(i));
    crcs[i] = crc32c(page);
  }
  return crcs;
}

Result<PingStream> PingStream::attach(const std::string& socket, std::uint32_t outstanding) {
  // Beside them, credits are kept for CANCEL.
  const std::uint32_t depth = std::bit_ceil(outstanding + RDE_RESERVED_CREDITS);
  auto client = Client::attach({.socket = socket, .name = "ring-bench", .channels = 1, .depth = depth});
  if (!client) return client.error();
  PingStream stream(std::move(*client));
  for (std::uint32_t i = 0; i < outstanding; ++i) {
    auto buffer = stream.client_->allocate(kPingBytes);
    if (!buffer) return Error{Status::out_of_buffers, "no " + std::to_string(outstanding) + " buffers of 4 KiB"};
    stream.pages_.push_back({.buffer = *buffer});
    stream.free_.push_back(i);
  }
  return stream;
}

Result<void> PingStream::send() {
  Channel& channel = client_->channel(0);
  const bool any = !free_.empty();
  while (!free_.empty()) {
    Page& page = pages_[free_.back()];
    page.value = next_++;
    std::ranges::fill(page.buffer.bytes, std::byte{page.value});
    const auto tag =
        channel.stage({.op = RDE_OP_PING, .buffer_page = page.buffer.page, .length = kPingBytes}, free_.back());
    if (!tag) return tag.error();
    free_.pop_back();
  }
  if (any) channel.flush();
  return {};
}

Result<void> PingStream::take_answers() {
  Channel& channel = client_->channel(0);
  Reaped reaped;
  while (channel.reap(reaped)) {
    if (reaped.status != Status::ok) return Error{reaped.status, "PING: " + std::string(name_of(reaped.status))};
    const auto page = static_cast<std::uint32_t>(reaped.user);
    if (reaped.crc != crcs_[pages_[page].value]) return Error{Status::operation_failed, "PING: a CRC is wrong"};
    free_.push_back(page);
    ++done_;
  }
  return {};
}

Result<void> PingStream::turn(bool may_send) {
  const std::uint64_t before = done_;
  for (unsigned i = 0; i < kPollsPerTurn; ++i) {
    if (may_send) {
      if (auto sent = send(); !sent) return sent;
    }
    if (auto taken = take_answers(); !taken) return taken;
  }
  if (done_ == before && client_->engine_gone()) return Error{Status::engine_gone, "the engine ended"};
  return {};
}

Result<Rate> PingStream::rate(Nanoseconds length, SwitchWatch* watch) {
  auto rate = windows_of(
      length, watch, [this] { return done_; }, [this] { return turn(true); });
  if (!rate) return rate;
  while (client_->channel(0).outstanding() != 0) {
    if (auto turned = turn(false); !turned) return turned.error();
  }
  return rate;
}

}  // namespace rde::tools
