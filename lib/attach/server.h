// The engine's side of one attach connection: a state machine that is fed when its socket is readable.
//
//   AttachConnection connection(listener.accept(), host);
//   if (!connection.on_readable()) remove(connection);      // refused, answered, or gone
//
// One thread. Never blocks on the client.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attach/hello.h"
#include "base/descriptor.h"
#include "prim/socket.h"
#include "segment/segment.h"

namespace rde {

// What a welcomed client gets.
struct AttachOffer {
  std::shared_ptr<Segment> segment;
  prim::WakePair wake;            // the sleeper's end goes to the client
  std::vector<int> shard_events;  // borrowed; one for each shard
  std::string version;
};

// What the engine decides. Called from on_readable.
class AttachHost {
 public:
  virtual std::variant<AttachOffer, Refusal> offer(const rde_attach_hello& hello, const prim::PeerIdentity& who) = 0;
  virtual std::vector<rde_attach_client> list(const prim::PeerIdentity& who) = 0;
  // A borrowed descriptor of the client's segment.
  virtual std::variant<int, Refusal> monitor(std::uint64_t client_number, const prim::PeerIdentity& who) = 0;
  // The segment is hardened and published; requests may come.
  virtual void attached(AttachOffer offer) = 0;

 protected:
  ~AttachHost() = default;
};

class AttachConnection {
 public:
  AttachConnection(Descriptor socket, AttachHost& host) : socket_(std::move(socket)), host_(host) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // False when the connection is over; the caller then destroys it. An attached client that closes, or sends
  // anything, is over.
  bool on_readable();
  [[nodiscard]] bool is_attached() const { return state_ == State::attached; }
  // Valid from the welcome on; 0 before.
  [[nodiscard]] std::uint64_t client_number() const { return client_number_; }
  // Why it ended, for the log; empty when the client just closed.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  enum class State { hello, mapped, attached };

  bool on_hello(std::span<const std::byte> message);
  bool on_mapped(std::span<const std::byte> message);
  bool welcome(AttachOffer offer);
  bool answer_list(const prim::PeerIdentity& who);
  bool answer_monitor(std::uint64_t target, const prim::PeerIdentity& who);
  bool refuse(const Refusal& refusal);

  Descriptor socket_;
  AttachHost& host_;
  State state_ = State::hello;
  AttachOffer offer_;
  std::uint64_t client_number_ = 0;
  std::string reason_;
};

}  // namespace rde
