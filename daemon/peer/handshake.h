// HELLO and AUTH, without a link: messages in, messages out.
//
//   Handshake handshake(wire::kConnector, identity, *make_nonce(), link.remote().is_loopback());
//   link.send(bytes_of(handshake.hello()));                   // the connector greets first
//   auto step = handshake.on_message(bytes);
//   if (!step) …                                              // tell step.error() to the peer, close
//   for (auto message : step->send()) link.send(message);
//   if (handshake.is_done()) …
#pragma once

#include <array>
#include <span>

#include "peer/auth.h"
#include "peer/peer_options.h"
#include "peer/protocol.h"

namespace rde {

class Handshake {
 public:
  // What the two sides know of each other afterwards.
  [[nodiscard]] const wire::HelloMessage& theirs() const { return theirs_; }
  [[nodiscard]] bool is_done() const { return state_ == State::done; }

  // `options` outlives this. With psk, both sides prove it; without, the remote must be on loopback.
  Handshake(wire::Role role, const PeerOptions& options, const Nonce& nonce, bool is_loopback);

  // peer_not_allowed where this remote may not even say hello.
  [[nodiscard]] Result<void> may_begin() const;
  [[nodiscard]] const wire::HelloMessage& hello() const { return ours_; }

  // At most two messages to be sent in order.
  struct Step {
    bool send_hello = false;
    bool send_auth = false;
    wire::AuthMessage auth{};
  };
  // protocol_error, peer_version, authentication_failed or invalid_address (this engine itself).
  Result<Step> on_message(std::span<const std::byte> message);

 private:
  enum class State : std::uint8_t { awaits_hello, awaits_auth, done, failed };
  Result<Step> on_hello(std::span<const std::byte> message);
  Result<Step> on_auth(std::span<const std::byte> message);
  Result<Step> fail(Status status, std::string text);
  [[nodiscard]] const wire::HelloMessage& connector() const { return role_ == wire::kConnector ? ours_ : theirs_; }
  [[nodiscard]] const wire::HelloMessage& acceptor() const { return role_ == wire::kAcceptor ? ours_ : theirs_; }
  [[nodiscard]] wire::Role their_role() const { return role_ == wire::kConnector ? wire::kAcceptor : wire::kConnector; }

  wire::Role role_;
  const PeerOptions& options_;
  bool is_loopback_;
  State state_ = State::awaits_hello;
  wire::HelloMessage ours_{};
  wire::HelloMessage theirs_{};
};

}  // namespace rde
