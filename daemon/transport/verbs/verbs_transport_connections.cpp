// Connections of a VerbsTransport, made and broken by rdma_cm.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {
namespace {

constexpr int kBacklog = 128;

SocketAddress address_of(const sockaddr* from) {
  SocketAddress where;
  where.length = from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&where.storage, from, where.length);
  return where;
}

}  // namespace

bool VerbsTransport::may_use(const ibv_context* context) const {
  return options_.device.empty() || options_.device == ibv_get_device_name(context->device);
}

std::uint32_t VerbsTransport::next_serial() {
  do {
    ++last_serial_;
  } while (by_serial_.contains(last_serial_));
  return last_serial_;
}

VerbsLink& VerbsTransport::add_link(std::unique_ptr<VerbsLink> link) {
  link->deadline_ = now_ns() + options_.connect_timeout;  // now_ is as old as the last progress()
  by_serial_[link->serial_] = link.get();
  ++unsettled_;
  return *links_.emplace_back(std::move(link));
}

Result<SocketAddress> VerbsTransport::listen(const SocketAddress& where, LinkAcceptor& acceptor) {
  auto entrance = std::make_unique<Entrance>(Entrance{&acceptor, nullptr});
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, entrance.get(), RDMA_PS_TCP) != 0) {
    return verbs_error(Status::context_init_failed, "rdma_cm", errno);
  }
  entrance->listener.reset(id);
  SocketAddress address = where;
  if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&address.storage)) != 0) {
    auto error = verbs_error(Status::invalid_address, "listen " + where.text(), errno);
    if (errno == ENODEV || errno == EADDRNOTAVAIL) {
      error.text += "; addresses of RDMA devices here: " + hosts_of(verbs_addresses(options_.device));
    }
    return error;
  }
  if (id->verbs != nullptr && !may_use(id->verbs)) {
    return Error{Status::invalid_address, "listen " + where.text() + ": belongs to device '" +
                                              ibv_get_device_name(id->verbs->device) + "', --device is '" +
                                              options_.device + "'"};
  }
  if (rdma_listen(id, kBacklog) != 0) {
    return verbs_error(Status::invalid_address, "listen " + where.text(), errno);
  }
  const auto bound = address_of(rdma_get_local_addr(id));
  entrances_.push_back(std::move(entrance));
  return bound;
}

Result<Link*> VerbsTransport::connect(const SocketAddress& where, LinkObserver& observer) {
  if (links_.size() >= options_.max_links) {
    return Error{Status::too_many_peers, "connect " + where.text() + ": " + std::to_string(options_.max_links) +
                                             " links are open, the limit (max_links)"};
  }
  auto link = std::make_unique<VerbsLink>(*this, next_serial(), where);
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, link.get(), RDMA_PS_TCP) != 0) {
    return verbs_error(Status::context_init_failed, "rdma_cm", errno);
  }
  link->connection_.reset(id);
  link->observer_ = &observer;
  SocketAddress to = where;
  if (rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&to.storage), kResolveMilliseconds) != 0) {
    return verbs_error(Status::peer_unreachable, "connect " + where.text() + ": no RDMA device leads there", errno);
  }
  return &add_link(std::move(link));
}

unsigned VerbsTransport::take_events() {
  events_due_ = now_ + kConnectionPause;
  unsigned count = 0;
  for (rdma_cm_event* taken = nullptr; rdma_get_cm_event(channel_.get(), &taken) == 0; ++count) {
    const auto& connection = taken->param.conn;
    const auto* data = static_cast<const std::byte*>(connection.private_data);
    Event event{.id = taken->id, .type = taken->event, .status = taken->status, .data = {}};
    if (data != nullptr) event.data.assign(data, data + connection.private_data_len);
    // Whoever destroys the id waits for this.
    rdma_ack_cm_event(taken);
    on_event(event);
  }
  return count;
}

void VerbsTransport::step(VerbsLink& link, const Result<void>& result) {
  if (!result) link.end(result.error(), false);
}

void VerbsTransport::on_event(const Event& event) {
  if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) return on_request(event);
  // A listener has no news but requests and the removal of its device.
  const auto is_listener =
      std::ranges::any_of(entrances_, [&](const auto& entrance) { return entrance->listener.get() == event.id; });
  if (is_listener) return;
  auto& link = *static_cast<VerbsLink*>(event.id->context);
  const bool is_connecting = link.state_ == VerbsLink::State::connecting;
  const std::string remote = link.remote_.text();
  switch (event.type) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (!is_connecting) return;
      if (!may_use(event.id->verbs)) {
        return link.end({Status::peer_unreachable, "connect " + remote + ": its way is device '" +
                                                       ibv_get_device_name(event.id->verbs->device) +
                                                       "', --device is '" + options_.device + "'"},
                        false);
      }
      if (rdma_resolve_route(event.id, kResolveMilliseconds) != 0) {
        link.end(verbs_error(Status::peer_unreachable, "route to " + remote, errno), false);
      }
      return;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      if (is_connecting) step(link, link.request_connection());
      return;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      if (is_connecting) step(link, link.complete_connection(event.data));
      return;
    case RDMA_CM_EVENT_ESTABLISHED:
      return link.become_up();
    case RDMA_CM_EVENT_REJECTED:
      return on_rejected(link, event);
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      link.is_disconnected_ = true;
      return link.end(
          {Status::peer_down, "the connection to " + remote + " was lost (" + rdma_event_str(event.type) + ")"}, false);
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
      return link.end({Status::peer_unreachable, "connect " + remote + ": " + rdma_event_str(event.type) + " (" +
                                                     std::strerror(std::abs(event.status)) + ")"},
                      false);
    default:
      return;
  }
}

void VerbsTransport::on_rejected(VerbsLink& link, const Event& event) {
  // An engine that refuses says who it is; else nobody listens there.
  const std::string remote = link.remote_.text();
  const auto theirs = link.check_hello(event.data);
  if (theirs) return link.end({Status::peer_unreachable, remote + " refused the link"}, false);
  if (theirs.error().status == Status::peer_version) return link.end(theirs.error(), false);
  link.end({Status::peer_unreachable, "connect " + remote + ": rejected (no engine listens there over RDMA)"}, false);
}

void VerbsTransport::on_request(const Event& event) {
  OwnedConnection connection(event.id);
  auto* entrance = static_cast<Entrance*>(event.id->context);
  auto link = std::make_unique<VerbsLink>(*this, next_serial(), address_of(rdma_get_peer_addr(event.id)));
  link->is_acceptor_ = true;
  link->connection_ = std::move(connection);
  event.id->context = link.get();
  const VerbsHello ours = link->hello(0);
  const auto refuse = [&] { rdma_reject(event.id, &ours, sizeof(ours)); };
  if (links_.size() >= options_.max_links || !may_use(event.id->verbs) || !link->check_hello(event.data)) {
    return refuse();
  }
  link->observer_ = entrance->acceptor->on_accept(*link);
  if (link->observer_ == nullptr) return refuse();
  VerbsLink& added = add_link(std::move(link));
  step(added, added.answer_request(event.data));
}

}  // namespace rde
