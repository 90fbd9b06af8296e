// A program's connection to an engine: channels, buffers, and waiting.
//
//   auto client = Client::attach({.socket = "/run/rdma-engine/attach.sock", .channels = 2});
//   if (!client) return client.error();
//   auto buffer = (*client)->allocate(1 << 20);
//   auto answer = (*client)->call((*client)->channel(0), read_request(object, buffer), deadline);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attach/client.h"
#include "client/arena.h"
#include "client/channel.h"
#include "client/waiter.h"

namespace rde {

// A piece of the arena, on loan until it is given back with Client::release. Its bytes are gone with the client.
struct Buffer {
  std::uint32_t page = 0;
  std::span<std::byte> bytes;
};

class Client {
 public:
  static Result<std::unique_ptr<Client>> attach(const AttachOptions& options);

  // Each channel is used by one thread at a time; different channels by different threads.
  [[nodiscard]] Channel& channel(std::uint32_t index) { return channels_[index]; }
  [[nodiscard]] std::uint32_t channel_count() const { return static_cast<std::uint32_t>(channels_.size()); }

  // Any thread. Nothing when the arena has no block of that size free.
  std::optional<Buffer> allocate(std::uint64_t length);
  void release(const Buffer& buffer);
  [[nodiscard]] const ArenaAllocator& arena() const { return arena_; }

  // Spins for a bounded time, then sleeps, until the channel has a completion.
  Waiter::Outcome wait(Channel& channel, Nanoseconds deadline);

  // Submits, waits, and answers the completion of this request; completions of others on the channel go to `others`
  // (may be null where none are outstanding). The request's own deadline is set from `deadline` (0: in 30 s); the
  // client gives the engine a margin, then answers deadline_exceeded itself, with returns_buffer false. After an error
  // other than that of submit() the request may still run: its buffer must not be used again.
  Result<Reaped> call(Channel& channel, rde_request request, Nanoseconds deadline,
                      std::vector<Reaped>* others = nullptr);

  [[nodiscard]] bool engine_gone() { return waiter_.engine_gone(); }
  [[nodiscard]] const SegmentView& view() const { return attachment_.view; }
  [[nodiscard]] const Attachment& attachment() const { return attachment_; }

 private:
  explicit Client(Attachment attachment);

  Attachment attachment_;
  ArenaAllocator arena_;
  Waiter waiter_;
  std::vector<Channel> channels_;
};

}  // namespace rde
