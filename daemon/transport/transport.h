// What the engine asks of a fabric. One Transport serves one shard and is used by its thread alone.
// Observers are called from progress() only, never from inside another call; they may call anything
// of Link and Transport except progress().
//
//   auto link = transport.connect(where, observer);        // observer.on_up comes later
//   auto key = (*link)->post_landing(7, buffer, *memory);  // put the key into a message of yours
//   (*link)->send(request);
//   while (!done) transport.progress(now_ns());            // observer.on_landed(link, 7, …)
//
// Moving bytes: the requester posts a landing (an id and a place in registered memory) and sends the
// key in a message of its own; the owner delivers a payload to that key; the requester's on_landed
// tells that the bytes are in place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/host_port.h"
#include "base/status.h"

namespace rde {

class Link;

constexpr Nanoseconds kNoTimer = ~Nanoseconds{0};

// Names a landing on the wire. What the fields hold is the transport's own business.
struct LandingKey {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};

class LinkObserver {
 public:
  // Messages may be sent. Called once, before everything else, for opened and accepted links alike.
  virtual void on_up(Link& link) = 0;
  // `message` is valid during the call.
  virtual void on_message(Link& link, std::span<const std::byte> message) = 0;
  // The landing has ended: `bytes` are in place (status ok), or it failed; nothing writes there any
  // more. `header` is what the owner gave to deliver(), valid during the call, empty when it failed.
  virtual void on_landed(Link& link, std::uint64_t id, std::span<const std::byte> header, std::uint32_t bytes,
                         Status status) = 0;
  // The payload given to deliver() may be reused. ok does not say that it arrived; cancelled: the
  // peer did not want it any more.
  virtual void on_delivered(Link& link, void* context, Status status) = 0;
  // Last call for this link. Every landing and delivery has ended before. The Link is gone afterwards.
  virtual void on_down(Link& link, const Error& why) = 0;

 protected:
  ~LinkObserver() = default;
};

// Registered memory: landings and payloads lie in it.
class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 protected:
  explicit Memory(std::span<std::byte> bytes) : bytes_(bytes) {}

 private:
  std::span<std::byte> bytes_;
};

class Link {
 public:
  static constexpr std::size_t kMaxMessage = 4096;
  static constexpr std::size_t kMaxHeader = 64;
  static constexpr std::size_t kMaxBacklog = 1024;

  // Sends a message of 1 to kMaxMessage bytes; it is copied. Messages arrive in order. Deliveries may
  // overtake messages. Fails with peer_down once the link is ending, peer_busy while kMaxBacklog
  // messages wait for a peer that does not take them, invalid_request for another size.
  virtual Status send(std::span<const std::byte> message) = 0;

  // Ids are the caller's, unique on this link while in use. `destination` lies in `memory`, at most
  // 4 GiB - 1. Fails with peer_down once the link is ending.
  virtual Result<LandingKey> post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) = 0;
  // True: the landing is gone and nothing will be written. False: a transfer has begun, or the hardware could still
  // write; on_landed will come, with status cancelled where the peer gave the landing back.
  virtual bool withdraw_landing(std::uint64_t id) = 0;

  // Moves `payload` (0 bytes and up, in `memory`) to the landing. `key` came in a message over this link: where it
  // names no open landing, on_delivered says cancelled, or ok where the transport cannot know. `header` (up to
  // kMaxHeader bytes) is copied. on_delivered comes once for each call that returned ok. peer_down once the link is
  // ending.
  virtual Status deliver(std::uint64_t id, const LandingKey& key, std::span<const std::byte> header,
                         std::span<const std::byte> payload, Memory& memory, void* context) = 0;

  // Ends the link: landings and deliveries end, then on_down comes with `why`, within a bound of the
  // transport's own even where the peer is frozen. Messages sent before reach a peer that is awake.
  // May be called again; the first reason stays.
  virtual void close(const Error& why) = 0;

  [[nodiscard]] virtual const SocketAddress& remote() const = 0;

 protected:
  ~Link() = default;
};

class LinkAcceptor {
 public:
  // A peer connects. The observer is used from now on; nullptr refuses it.
  virtual LinkObserver* on_accept(Link& link) = 0;

 protected:
  ~LinkAcceptor() = default;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // "tcp", "ucx", "verbs" or "sim"; device and version for capabilities and logs.
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual std::string device() const = 0;
  [[nodiscard]] virtual bool is_rdma() const = 0;

  // Listens; port 0 picks one. Answers the address that was bound.
  virtual Result<SocketAddress> listen(const SocketAddress& where, LinkAcceptor& acceptor) = 0;
  // Starts to connect. on_up or on_down comes later, on_down at the latest when the transport's
  // connect timeout is over. The pointer is valid until on_down.
  virtual Result<Link*> connect(const SocketAddress& where, LinkObserver& observer) = 0;

  // Registers memory for landings and payloads; page-aligned. Release it by destroying the Memory,
  // after every landing and delivery in it has ended and before the Transport goes.
  virtual Result<Memory*> add_memory(std::span<std::byte> bytes) = 0;
  virtual void remove_memory(Memory* memory) = 0;

  // Makes progress and calls observers; answers how many events it handled. 0 = idle. `now` is
  // CLOCK_MONOTONIC (tests with a scripted fabric give their own clock) and does not go back.
  virtual unsigned progress(Nanoseconds now) = 0;
  // True while something is under way, so that progress() must be called often.
  [[nodiscard]] virtual bool busy() const = 0;

  // When progress() must be called though nothing arrives; kNoTimer: never.
  [[nodiscard]] virtual Nanoseconds next_timer() const = 0;

  // For sleeping: a descriptor that becomes readable on news, or -1. arm() answers false when there
  // is news already (call progress() again instead of sleeping).
  [[nodiscard]] virtual int event_descriptor() const = 0;
  virtual bool arm() = 0;
};

}  // namespace rde
