#include "transport/sim/sim_transport.h"

#include <netinet/in.h>

#include <algorithm>

namespace rde {
namespace {

constexpr unsigned kMaxEvents = 1024;  // of one progress(): packets without latency could go on for ever

void set_port(SocketAddress& where, std::uint16_t port) {
  if (where.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(where.storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(where.storage).sin_port = htons(port);
  }
}

bool has_port(const SocketAddress& where) {
  return where.storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(where.storage).sin6_port != 0
                                             : reinterpret_cast<const sockaddr_in&>(where.storage).sin_port != 0;
}

}  // namespace

SocketAddress SimTransport::loopback() {
  SocketAddress where;
  auto& in = reinterpret_cast<sockaddr_in&>(where.storage);
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  where.length = sizeof(in);
  return where;
}

SimTransport::SimTransport(SimFabric& fabric, const SocketAddress& from) : fabric_(fabric), from_(from) {
  fabric_.join(*this);
}

SimTransport::~SimTransport() {
  end_links(nullptr, {Status::peer_down, "the transport goes away"});
  fabric_.leave(*this);
  for (auto* other : fabric_.transports_) {
    std::erase_if(other->inbox_, [&](const auto& entry) { return entry.second.from == this; });
    for (auto& [id, link] : other->links_) {
      if (link->peer_ == this) link->peer_ = nullptr;
    }
  }
}

Result<SocketAddress> SimTransport::listen(const SocketAddress& where, LinkAcceptor& acceptor) {
  SocketAddress bound = where;
  if (!has_port(bound)) set_port(bound, fabric_.next_port_++);
  if (acceptor_ != nullptr) return Error{Status::invalid_address, "listen: this transport listens already"};
  if (fabric_.listener_at(bound) != nullptr) {
    return Error{Status::invalid_address, "listen: " + bound.text() + " is in use; take another port or 0"};
  }
  acceptor_ = &acceptor;
  listening_ = bound;
  return bound;
}

Result<Link*> SimTransport::connect(const SocketAddress& where, LinkObserver& observer) {
  const auto id = fabric_.next_link_++;
  auto& link = *links_.emplace(id, std::make_unique<SimLink>(*this, id, where)).first->second;
  link.observer_ = &observer;
  auto* listener = fabric_.listener_at(where);
  if (dead_ || listener == nullptr || listener->dead_) {
    link.end({Status::peer_unreachable, "nobody listens at " + where.text()}, false);
    return &link;
  }
  SocketAddress from = from_;
  set_port(from, fabric_.next_port_++);
  listener->post(fabric_.now() + fabric_.pace_.latency,
                 {.what = SimPacket::What::connect, .id = id, .from = this, .from_address = from});
  post(fabric_.now() + fabric_.pace_.connect_timeout, {.what = SimPacket::What::connect_timeout, .link = id});
  return &link;
}

void SimTransport::accept(SimPacket& packet) {
  const Nanoseconds back = fabric_.now() + fabric_.pace_.latency;
  const auto id = fabric_.next_link_++;
  auto& link = *links_.emplace(id, std::make_unique<SimLink>(*this, id, packet.from_address)).first->second;
  link.observer_ = dead_ || acceptor_ == nullptr ? nullptr : acceptor_->on_accept(link);
  if (link.observer_ == nullptr) {
    links_.erase(id);
    packet.from->post(back, {.what = SimPacket::What::closed,
                             .link = packet.id,
                             .why = {Status::peer_unreachable, "the peer refused the link"}});
    return;
  }
  link.peer_ = packet.from;
  link.peer_link_ = packet.id;
  link.state_ = SimLink::State::up;
  link.last_arrival_ = back;
  packet.from->post(back, {.what = SimPacket::What::up, .link = packet.id, .id = id, .from = this});
  link.observer_->on_up(link);
}

Result<Memory*> SimTransport::add_memory(std::span<std::byte> bytes) {
  return memories_.add(std::make_unique<PlainMemory>(bytes));
}

SimLink* SimTransport::find(std::uint64_t id) {
  const auto it = links_.find(id);
  return it == links_.end() ? nullptr : it->second.get();
}

void SimTransport::end_links(const SimTransport* with, const Error& why) {
  for (auto& [id, link] : links_) {
    if (with == nullptr || link->peer_ == with) link->end(why, true);
  }
}

void SimTransport::handle(SimPacket& packet) {
  if (packet.what == SimPacket::What::connect) return accept(packet);
  auto* link = find(packet.link);
  if (link == nullptr) {
    if (packet.what == SimPacket::What::up) {  // the connector gave up meanwhile
      packet.from->post(
          fabric_.now() + fabric_.pace_.latency,
          {.what = SimPacket::What::closed, .link = packet.id, .why = {Status::peer_down, "the peer closed the link"}});
    }
    return;
  }
  link->handle(packet);
  if (!link->has_ended()) return;
  const auto ended = links_.extract(packet.link);
  ended.mapped()->observer_->on_down(*ended.mapped(), ended.mapped()->why_);
}

unsigned SimTransport::progress(Nanoseconds now) {
  fabric_.advance_to(now);
  unsigned events = 0;
  while (!frozen_ && events < kMaxEvents && !inbox_.empty() && inbox_.begin()->first <= fabric_.now()) {
    auto packet = inbox_.extract(inbox_.begin());
    handle(packet.mapped());
    ++events;
  }
  return events;
}

bool SimTransport::busy() const {
  return std::ranges::any_of(inbox_,
                             [](const auto& entry) { return entry.second.what != SimPacket::What::connect_timeout; });
}

Nanoseconds SimTransport::next_timer() const { return inbox_.empty() ? kNoTimer : inbox_.begin()->first; }

}  // namespace rde
