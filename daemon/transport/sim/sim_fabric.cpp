#include "transport/sim/sim_fabric.h"

#include "transport/sim/sim_transport.h"

namespace rde {

void SimFabric::freeze(SimTransport& transport) { transport.frozen_ = true; }

void SimFabric::thaw(SimTransport& transport) { transport.frozen_ = false; }

void SimFabric::kill(SimTransport& transport) {
  transport.dead_ = true;
  transport.end_links(nullptr, {Status::peer_down, "the process of this transport was killed by the script"});
}

void SimFabric::revive(SimTransport& transport) { transport.dead_ = false; }

void SimFabric::cut(SimTransport& a, SimTransport& b) {
  a.end_links(&b, {Status::peer_down, "the link was cut by the script"});
}

SimTransport* SimFabric::listener_at(const SocketAddress& where) const {
  const auto text = where.text();
  for (auto* transport : transports_) {
    if (transport->acceptor_ != nullptr && transport->listening_.text() == text) return transport;
  }
  return nullptr;
}

void SimFabric::leave(SimTransport& transport) { std::erase(transports_, &transport); }

}  // namespace rde
