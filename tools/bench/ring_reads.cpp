#include "bench/ring_reads.h"

#include "bench/volume_file.h"
#include "seaweed/file_id.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kPatience = 20 * kSecond;
constexpr std::uint64_t kSegment = std::uint64_t{128} << 20;

}  // namespace

std::string store_object() {
  return format_file_id({.volume = kStoreVolume, .key = kStoreKey, .cookie = kStoreCookie});
}

Result<RingReads> RingReads::attach(const std::string& socket, const RingReadPlan& plan) {
  auto client =
      Client::attach({.socket = socket, .name = "ring-bench", .segment_size = kSegment, .channels = 1, .depth = 64});
  if (!client) return client.error();
  RingReads reads(std::move(*client), plan);
  for (std::uint32_t i = 0; i < plan.outstanding; ++i) {
    auto buffer = reads.client_->allocate(plan.length);
    if (!buffer) return Error{Status::out_of_buffers, "no buffer of " + std::to_string(plan.length) + " bytes"};
    reads.buffers_.push_back(*buffer);
  }
  // An engine that has only just started may not have found its peer yet.
  for (const Nanoseconds end = now_ns() + kPatience;;) {
    if (auto sent = reads.submit(0); !sent) return sent.error();
    const auto first = reads.reap();
    if (first) return reads;
    if (!may_retry(first.error().status) && first.error().status != Status::volume_not_found) return first.error();
    if (now_ns() > end) return first.error();
  }
}

Result<void> RingReads::submit(std::uint64_t buffer) {
  const std::uint64_t places = kStoreObject / plan_.length;
  const std::uint64_t place = plan_.random ? random_() % places : next_++ % places;
  const rde_object_args args{
      .needle = kStoreKey, .volume = kStoreVolume, .cookie = kStoreCookie, .offset = place * plan_.length};
  rde_request request{.op = RDE_OP_OBJECT_READ,
                      .flags = static_cast<std::uint8_t>(plan_.skip_crc ? RDE_REQUEST_FLAG_SKIP_CRC : 0),
                      .buffer_page = buffers_[buffer].page,
                      .length = plan_.length};
  __builtin_memcpy(request.args, &args, sizeof args);
  if (auto tag = client_->channel(0).submit(request, buffer); !tag) return tag.error();
  return {};
}

Result<std::uint64_t> RingReads::reap() {
  Channel& channel = client_->channel(0);
  Reaped reaped;
  while (!channel.reap(reaped)) {
    if (client_->wait(channel, now_ns() + kPatience) != Waiter::Outcome::ready)
      return Error{Status::deadline_exceeded, "no answer to a read"};
  }
  if (reaped.status != Status::ok) return Error{reaped.status, "read: " + std::string(name_of(reaped.status))};
  if (reaped.bytes != plan_.length) return Error{Status::operation_failed, "a read was short"};
  return reaped.user;
}

Result<std::vector<double>> RingReads::pace(Nanoseconds length) {
  std::uint64_t reads = 0;
  const Nanoseconds start = now_ns(), end = start + length;
  for (std::uint64_t i = 0; i < buffers_.size(); ++i) {
    if (auto sent = submit(i); !sent) return sent.error();
  }
  Nanoseconds now = start;
  for (std::size_t left = buffers_.size(); left != 0;) {
    const auto done = reap();
    if (!done) return done.error();
    ++reads;
    now = now_ns();
    if (now >= end) {
      --left;
    } else if (auto sent = submit(*done); !sent) {
      return sent.error();
    }
  }
  const double mebibytes = static_cast<double>(reads) * plan_.length / (1 << 20);
  return std::vector<double>{mebibytes * 1e9 / static_cast<double>(now - start)};
}

Result<std::vector<double>> RingReads::latencies(Nanoseconds length) {
  std::vector<double> samples;
  const Nanoseconds end = now_ns() + length;
  for (Nanoseconds start = now_ns(); start < end;) {
    if (auto sent = submit(0); !sent) return sent.error();
    if (auto done = reap(); !done) return done.error();
    const Nanoseconds now = now_ns();
    samples.push_back(static_cast<double>(now - start) / 1e3);
    start = now;
  }
  return samples;
}

}  // namespace rde::tools
