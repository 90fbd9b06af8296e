// One end of a connection on the scripted fabric. See sim_fabric.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace rde {

class SimTransport;

// What travels, and what a transport tells itself for later.
struct SimPacket {
  enum class What : std::uint8_t {
    connect,  // to a listener, from link `id` of `from`
    up,       // to the connector: accepted by link `id` of `from`
    message,
    transfer_begin,  // first byte of a delivery at its landing
    transfer_end,    // last byte
    delivered,       // to the owner: its payload is free
    landing_failed,
    closed,  // the other side ended the link, or is gone
    check,   // see whether an ending link has ended
    connect_timeout,
  };
  What what = What::check;
  std::uint64_t link = 0;  // of the receiver
  std::uint64_t id = 0;
  std::uint64_t serial = 0;  // of the delivery
  SimTransport* from = nullptr;
  SocketAddress from_address;
  LandingKey key;
  std::vector<std::byte> bytes;  // message or header
  std::span<const std::byte> payload;
  Nanoseconds duration = 0;
  Error why{Status::ok, {}};  // delivered: its status
};

class SimLink final : public Link {
 public:
  SimLink(SimTransport& transport, std::uint64_t id, const SocketAddress& remote)
      : transport_(transport), id_(id), remote_(remote) {}

  Status send(std::span<const std::byte> message) override;
  Result<LandingKey> post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) override;
  bool withdraw_landing(std::uint64_t id) override;
  Status deliver(std::uint64_t id, const LandingKey& key, std::span<const std::byte> header,
                 std::span<const std::byte> payload, Memory& memory, void* context) override;
  void close(const Error& why) override { end(why, false); }
  [[nodiscard]] const SocketAddress& remote() const override { return remote_; }

 private:
  friend class SimTransport;
  enum class State : std::uint8_t { connecting, up, ending };
  struct Landing {
    std::uint64_t id;
    std::uint64_t serial;
    std::span<std::byte> destination;
    bool receiving;
  };
  struct Delivery {
    std::uint64_t serial;
    void* context;
  };

  // `broken`: the other side notices after the pace's detection time, and loses what was on its way.
  void end(const Error& why, bool broken);
  void handle(SimPacket& packet);
  void handle_begin(SimPacket& packet);
  void handle_end(SimPacket& packet);
  [[nodiscard]] bool has_ended() const { return state_ == State::ending && landings_.empty() && deliveries_.empty(); }
  // Arrival time of something sent now after all that was sent before.
  Nanoseconds arrival(Nanoseconds delay);
  void to_peer(Nanoseconds at, SimPacket packet);
  void to_self(SimPacket packet);
  std::optional<Landing> take_landing(std::uint64_t id);

  SimTransport& transport_;
  std::uint64_t id_;
  SocketAddress remote_;
  LinkObserver* observer_ = nullptr;
  SimTransport* peer_ = nullptr;
  std::uint64_t peer_link_ = 0;
  State state_ = State::connecting;
  Error why_;
  Nanoseconds last_arrival_ = 0;
  Nanoseconds line_free_ = 0;
  std::size_t messages_ = 0;  // that the peer has not read
  std::uint64_t next_serial_ = 1;
  std::vector<Landing> landings_;
  std::vector<Delivery> deliveries_;
};

}  // namespace rde
