// The link of a ServeSession; serve.cpp has its requests.
#include "peer/serve_session.h"

#include <spdlog/spdlog.h>

#include "peer/responder.h"

namespace rde {

ServeSession::ServeSession(Responder& responder, Link& link) : responder_(responder), link_(&link) {}

template <class M>
void ServeSession::send(const M& message) {
  if (link_ == nullptr) return;
  const Status status = link_->send(wire::bytes_of(message));
  if (status != Status::ok && status != Status::peer_down) {
    link_->close({status, "the peer does not take its messages"});
  }
}
template void ServeSession::send(const wire::IdMessage&);
template void ServeSession::send(const wire::RegionDoneMessage&);

void ServeSession::on_up(Link& link) {
  PeerHost& host = responder_.host_;
  const auto nonce = make_nonce();
  if (!nonce) return link.close(nonce.error());
  handshake_.emplace(wire::kAcceptor, host.options(), *nonce, link.remote().is_loopback());
  greet_until_ = host.now() + host.options().handshake_timeout;
  host.schedule(greet_until_);
  if (auto may = handshake_->may_begin(); !may) fail_link(may.error());
}

void ServeSession::on_message(Link& link, std::span<const std::byte> message) {
  heartbeat_.heard(responder_.host_.now());
  if (!is_serving_) return greet(message);
  const auto head = wire::parse_head(message);
  if (!head) return fail_link(head.error());
  if (head->type == wire::kError) {
    const auto error = wire::parse_error(message);
    if (!error) return fail_link(error.error());
    return link.close(
        {static_cast<Status>(error->status), "the peer says: " + std::string(wire::text_of(error->text))});
  }
  if (auto taken = take(*head, message); !taken) fail_link(taken.error());
}

void ServeSession::greet(std::span<const std::byte> message) {
  const auto step = handshake_->on_message(message);
  if (!step) return fail_link(step.error());
  if (step->send_hello) send(handshake_->hello());
  if (step->send_auth) send(step->auth);
  if (handshake_->is_done()) begin_serving();
}

void ServeSession::begin_serving() {
  PeerHost& host = responder_.host_;
  is_serving_ = true;
  heartbeat_ = Heartbeat(host.options().ping_interval, host.options().peer_timeout, host.now());
  host.schedule(heartbeat_.due());
  const VolumeSnapshot& snapshot = responder_.snapshot_;
  send(wire::ReadyMessage{.head = wire::head_of<wire::ReadyMessage>(wire::kReady),
                          .credits = host.options().credits,
                          .max_length = host.options().slice,
                          .generation = snapshot.generation,
                          .volumes = static_cast<std::uint32_t>(snapshot.ids.size()),
                          .reserved = 0});
  if (!snapshot.ids.empty()) announcer_.restart();
  announce();
  spdlog::info("serving {}: engine {}, transport {}", link_->remote().text(),
               wire::text_of(handshake_->theirs().engine_version),
               wire::text_of(handshake_->theirs().transport_version));
}

void ServeSession::announce() {
  if (!is_serving() || announcer_.is_done()) return;
  const Status status = announcer_.advance(*link_, responder_.snapshot_);
  if (status != Status::ok && status != Status::peer_down)
    link_->close({status, "the peer does not take its messages"});
  responder_.needs_look_ |= !announcer_.is_done();
}

Result<void> ServeSession::take(const wire::Head& head, std::span<const std::byte> message) {
  if (responder_.regions_ != nullptr) {
    if (head.type == wire::kRegionRead) return take_region_read(message);
    if (head.type == wire::kRegionWrite) return take_region_write(message);
    if (head.type == wire::kRegionWord) return take_region_word(message);
  }
  switch (head.type) {
    case wire::kRead:
    case wire::kStat:
      return take_request(message);
    case wire::kCancel:
      return take_cancel(message);
    case wire::kPing: {
      const auto ping = wire::parse_ping(message);
      if (!ping) return ping.error();
      send(wire::PingMessage{wire::head_of<wire::PingMessage>(wire::kPong), ping->value});
      return {};
    }
    case wire::kPong:
      if (const auto pong = wire::parse_ping(message); !pong) return pong.error();
      return {};
    case wire::kGoodbye:
      return {};  // it closes the link when it has done so
    default:
      return Error{Status::protocol_error,
                   "message.type is " + std::to_string(head.type) + ", which an acceptor does not take now"};
  }
}

void ServeSession::tick(Nanoseconds now) {
  if (link_ == nullptr) return;
  if (!is_serving_) {
    if (now >= greet_until_) fail_link({Status::network_timeout, "the peer did not finish its greeting in time"});
    if (now < greet_until_) responder_.host_.schedule(greet_until_);
    return;
  }
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
  responder_.host_.schedule(heartbeat_.due());
}

void ServeSession::say_goodbye() {
  if (is_serving()) send(wire::GoodbyeMessage{wire::head_of<wire::GoodbyeMessage>(wire::kGoodbye)});
}

void ServeSession::close(const Error& why) {
  if (link_ != nullptr) link_->close(why);
}

void ServeSession::fail_link(const Error& error) {
  if (link_ == nullptr) return;
  ++responder_.host_.counters().refused_peers;
  spdlog::warn("peer {} refused: {}", link_->remote().text(), error.text);
  send(wire::error_message(error));
  link_->close(error);
}

void ServeSession::on_down(Link& link, const Error& why) {
  if (is_serving_) spdlog::info("peer {} left: {}", link.remote().text(), why.text);
  link_ = nullptr;
  responder_.needs_look_ = true;
  if (is_listed()) responder_.waiting_.remove(*this);
  while (Serve* serve = small_.pop_front()) responder_.release(*serve);
  while (Serve* serve = large_.pop_front()) responder_.release(*serve);
  // Deliveries have ended before; what is left is in the source and must come back first.
  for (Serve* serve : serves_) {
    if (serve->state != Serve::State::reading) continue;
    serve->session = nullptr;
    responder_.source_->cancel(*serve);
  }
  serves_.clear();
}

}  // namespace rde
