// The other engine of --transport sim: serves this engine's exports over a fabric inside the process, so that reads
// take the whole way of a remote read without a network.
#pragma once

#include <memory>

#include "engine/staging.h"
#include "peer/peer_hub.h"
#include "transport/sim/sim_fabric.h"
#include "transport/sim/sim_transport.h"

namespace rde {

// Owner thread only; outlives the transport that make_transport() gave.
class SimPeer {
 public:
  static Result<std::unique_ptr<SimPeer>> open(ObjectSource& local, const VolumeList& volumes, const Staging& staging,
                                               RegionTable* regions);

  // A transport of the gateway's side.
  std::unique_ptr<Transport> make_transport() { return std::make_unique<SimTransport>(fabric_); }
  [[nodiscard]] const SocketAddress& address() const { return address_; }
  PeerHub& hub() { return *hub_; }
  void close() { hub_.reset(); }

 private:
  SimPeer() : transport_(fabric_) {}

  SimFabric fabric_;
  SimTransport transport_;
  std::unique_ptr<PeerHub> hub_;
  SocketAddress address_;
};

}  // namespace rde
