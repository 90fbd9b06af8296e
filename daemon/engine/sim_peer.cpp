#include "engine/sim_peer.h"

#include "version.h"

namespace rde {

Result<std::unique_ptr<SimPeer>> SimPeer::open(ObjectSource& local, const VolumeList& volumes, const Staging& staging,
                                               RegionTable* regions) {
  std::unique_ptr<SimPeer> peer(new SimPeer);
  PeerOptions options;
  options.engine_version = kVersion;
  options.transport_version = "sim";
  const PeerParts parts{.transport = peer->transport_,
                        .source = &local,
                        .volumes = &volumes,
                        .staging = staging.bytes(),
                        .regions = regions};
  auto hub = PeerHub::create(parts, options);
  if (!hub) return hub.error();
  peer->hub_ = std::move(*hub);
  const auto bound = peer->hub_->listen(SimTransport::loopback());
  if (!bound) return bound.error();
  peer->address_ = *bound;
  return peer;
}

}  // namespace rde
