// The connection of a RemotePeer: attempts, greeting, liveness, end.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "peer/remote_peer.h"

namespace rde {
namespace {

constexpr Nanoseconds kStable = 5 * kSecond;  // ready for so long: earlier failures are forgotten

}  // namespace

RemotePeer::RemotePeer(PeerHost& host, Handle handle, const SocketAddress& address)
    : host_(host), handle_(handle), address_(address) {}

std::string_view RemotePeer::engine_version() const {
  return handshake_ ? wire::text_of(handshake_->theirs().engine_version) : std::string_view{};
}

std::string_view RemotePeer::transport_version() const {
  return handshake_ ? wire::text_of(handshake_->theirs().transport_version) : std::string_view{};
}

bool RemotePeer::serves_regions() const {
  return handshake_ && handshake_->is_done() && (handshake_->theirs().optional_features & wire::kRegions) != 0;
}

template <class M>
void RemotePeer::send(const M& message) {
  send(wire::bytes_of(message));
}

void RemotePeer::send(std::span<const std::byte> message) {
  if (link_ == nullptr) return;
  const Status status = link_->send(message);
  // A link that ends says so by itself.
  if (status != Status::ok && status != Status::peer_down) {
    link_->close({status, "the peer does not take its messages"});
  }
}
template void RemotePeer::send(const wire::IdMessage&);

void RemotePeer::hurry() {
  if (state_ != State::waiting) return;
  if (last_attempt_ == 0) return connect();
  due_ = std::min(due_, last_attempt_ + host_.options().reconnect_least);
  host_.schedule(due_);
}

void RemotePeer::connect() {
  last_attempt_ = host_.now();
  state_ = State::connecting;
  handshake_.reset();
  ready_.reset();
  catalog_.clear();
  auto link = host_.transport().connect(address_, *this);
  if (link) {
    link_ = *link;
    return;
  }
  last_error_ = link.error();
  wait();
  host_.on_attempt(*this, last_error_.status);
}

void RemotePeer::wait() {
  const PeerOptions& options = host_.options();
  state_ = State::waiting;
  const unsigned doublings = std::min(failures_++, 16U);
  const Nanoseconds pause = std::min(options.reconnect_least << doublings, options.reconnect_most);
  // 75 to 125 %, so that engines that lost one peer together do not come back together.
  due_ = host_.now() + pause * 3 / 4 + pause / 2 * (host_.random() & 1023U) / 1024;
  host_.schedule(due_);
}

void RemotePeer::on_up(Link& link) {
  const auto nonce = make_nonce();
  if (!nonce) return link.close(nonce.error());
  handshake_.emplace(wire::kConnector, host_.options(), *nonce, link.remote().is_loopback());
  if (auto may = handshake_->may_begin(); !may) return link.close(may.error());
  if (state_ == State::connecting) state_ = State::greeting;
  due_ = host_.now() + host_.options().handshake_timeout;
  host_.schedule(due_);
  send(handshake_->hello());
}

void RemotePeer::on_message(Link& link, std::span<const std::byte> message) {
  heartbeat_.heard(host_.now());
  const auto head = wire::parse_head(message);
  if (!head) return fail_link(head.error());
  if (head->type == wire::kError) {
    const auto error = wire::parse_error(message);
    if (!error) return fail_link(error.error());
    return link.close(
        {static_cast<Status>(error->status), "the peer says: " + std::string(wire::text_of(error->text))});
  }
  if (!handshake_ || !handshake_->is_done()) return greet(message);
  if (auto taken = take(static_cast<wire::Type>(head->type), message); !taken) fail_link(taken.error());
}

void RemotePeer::greet(std::span<const std::byte> message) {
  if (!handshake_) return fail_link({Status::protocol_error, "a message came before the link was up"});
  const auto step = handshake_->on_message(message);
  if (!step) return fail_link(step.error());
  if (step->send_auth) send(step->auth);
}

Result<void> RemotePeer::take(wire::Type type, std::span<const std::byte> message) {
  switch (type) {
    case wire::kReady:
      return take_ready(message);
    case wire::kVolumes: {
      if (!ready_) return Error{Status::protocol_error, "VOLUMES came before READY"};
      if (auto taken = catalog_.on_message(message); !taken) return taken.error();
      become_ready_once_known();
      return {};
    }
    case wire::kCredit:
      return take_credit(message);
    case wire::kRegionDone:
      return take_region_done(message);
    case wire::kPing: {
      const auto ping = wire::parse_ping(message);
      if (!ping) return ping.error();
      send(wire::PingMessage{wire::head_of<wire::PingMessage>(wire::kPong), ping->value});
      return {};
    }
    case wire::kPong: {
      const auto pong = wire::parse_ping(message);
      if (!pong) return pong.error();
      if (pong->value <= host_.now()) round_trip_ = host_.now() - pong->value;
      return {};
    }
    case wire::kGoodbye:
      if (state_ == State::ready) {
        state_ = State::leaving;
        spdlog::info("peer {} says good-bye", address_.text());
      }
      fail_queued(Status::peer_down);
      return {};
    default:
      return Error{Status::protocol_error,
                   "message.type is " + std::to_string(type) + ", which a connector does not take now"};
  }
}

Result<void> RemotePeer::take_ready(std::span<const std::byte> message) {
  const auto ready = wire::parse_ready(message);
  if (!ready) return ready.error();
  if (ready_) return Error{Status::protocol_error, "READY came twice"};
  ready_ = *ready;
  become_ready_once_known();
  return {};
}

void RemotePeer::become_ready_once_known() {
  if (state_ != State::greeting || (ready_->volumes != 0 && !catalog_.is_known())) return;
  state_ = State::ready;
  ready_since_ = host_.now();
  heartbeat_ = Heartbeat(host_.options().ping_interval, host_.options().peer_timeout, host_.now());
  host_.schedule(heartbeat_.due());
  make_room(ready_->credits);
  ++host_.counters().connects;
  spdlog::info("peer {} is ready: engine {}, transport {}, {} volumes, {} credits", address_.text(), engine_version(),
               transport_version(), catalog_.size(), ready_->credits);
  host_.on_attempt(*this, Status::ok);
}

// The peer did what the protocol does not allow: tell it, and end.
void RemotePeer::fail_link(const Error& error) {
  if (link_ == nullptr) return;
  ++host_.counters().refused_peers;
  send(wire::error_message(error));
  link_->close(error);
}

void RemotePeer::on_down(Link& /*link*/, const Error& why) {
  const bool was_ready = state_ == State::ready || state_ == State::leaving;
  const bool was_closing = state_ == State::closing;
  link_ = nullptr;
  last_error_ = why;
  if (was_ready && host_.now() - ready_since_ >= kStable) failures_ = 0;
  state_ = was_closing ? State::closed : State::waiting;
  // Every landing has ended before; what is left are answers that will not come, credits that nobody will give back,
  // and the queue.
  for (Request& request : requests_) {
    if (request.state == Request::State::flying && request.awaits_message) {
      PeerTask& task = *request.task;
      task.fail(Status::peer_down);
      lose_request(request);
      settle(task);
    }
    request.state = Request::State::free;
    request.task = nullptr;
  }
  used_ = used_large_ = large_cost_ = 0;
  free_slots_.clear();
  catalog_.clear();
  fail_queued(Status::peer_down);
  if (was_closing) return;
  if (was_ready || failures_ == 0) spdlog::warn("peer {} is down: {}", address_.text(), why.text);
  wait();
  if (!was_ready) host_.on_attempt(*this, why.status);
}

void RemotePeer::tick(Nanoseconds now) {
  if (state_ == State::waiting && now >= due_) connect();
  if (state_ == State::greeting && now >= due_) {
    link_->close({Status::network_timeout, "the peer did not finish its greeting in time"});
    due_ = kNoTimer;
  }
  if (state_ == State::waiting || state_ == State::greeting) host_.schedule(due_);
  if (state_ != State::ready && state_ != State::leaving) return;
  switch (heartbeat_.tick(now)) {
    case Heartbeat::Beat::none:
      break;
    case Heartbeat::Beat::ping:
      send(wire::PingMessage{wire::head_of<wire::PingMessage>(wire::kPing), now});
      break;
    case Heartbeat::Beat::dead:
      link_->close({Status::network_timeout, "the peer was silent for too long"});
      break;
  }
  host_.schedule(heartbeat_.due());
}

void RemotePeer::close() {
  if (state_ == State::closing || state_ == State::closed) return;
  const bool has_link = link_ != nullptr;
  if (state_ == State::ready) send(wire::GoodbyeMessage{wire::head_of<wire::GoodbyeMessage>(wire::kGoodbye)});
  state_ = has_link ? State::closing : State::closed;
  fail_queued(Status::peer_down);
  if (has_link) link_->close({Status::peer_down, "closed by this engine"});
}

}  // namespace rde
