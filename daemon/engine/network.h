// A shard's transport and the peers that it reaches over it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "engine/sim_peer.h"
#include "engine/staging.h"
#include "peer/peer_hub.h"
#include "shard/shard_io.h"
#include "storage/volume_store.h"
#include "transport/transport.h"

namespace rde {

struct NetworkOptions {
  const Config* config = nullptr;  // outlives the network
  VolumeStore* volumes = nullptr;  // the same
  ObjectSource* local = nullptr;   // serves other engines
  RegionTable* regions = nullptr;  // the same
  std::uint64_t epoch = 0;
  bool listens = false;
};

// Owner thread only.
class Network {
 public:
  // Errors say which option asks for what cannot be had. A null pointer: this engine has nobody to talk to,
  // or was built without a transport and nothing asks for one.
  static Result<std::unique_ptr<Network>> open(const NetworkOptions& options);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  unsigned progress(Nanoseconds now);
  [[nodiscard]] bool busy() const;
  [[nodiscard]] Nanoseconds next_timer() const;  // 0 = none
  void drain();
  // Says good-bye to all peers; done when is_stopped(), with progress() meanwhile.
  void stop();
  [[nodiscard]] bool is_stopped() const;
  // Ends what is left of the peers. The transport stays, with the memory that it knows.
  void close();

  PeerHub& hub() { return *hub_; }
  [[nodiscard]] const PeerHub& hub() const { return *hub_; }
  Transport& transport() { return *transport_; }
  [[nodiscard]] const Transport& transport() const { return *transport_; }
  // Where peers connect to; empty when nobody does.
  [[nodiscard]] const std::string& bound() const { return bound_; }
  // Memory that the local source reads into; empty when nobody is served.
  [[nodiscard]] std::span<std::byte> staging() const { return staging_ ? staging_->bytes() : std::span<std::byte>{}; }
  // The exports are reached over a simulated network, although they are this engine's own.
  [[nodiscard]] bool is_simulated() const { return sim_peer_ != nullptr; }

  // Refused where the configuration does not allow the address.
  Result<Handle> open_peer(const SocketAddress& where, ShardIo::Opened opened);

 private:
  class Opening;
  class ExportedVolumes;

  explicit Network(const NetworkOptions& options);
  Result<void> open_sim_peer();
  Result<void> allocate_staging();
  Result<void> open_hub();
  Result<void> listen();
  Result<void> add_static_peers();

  NetworkOptions options_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<ExportedVolumes> exported_;
  std::unique_ptr<SimPeer> sim_peer_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<PeerHub> hub_;
  std::vector<std::unique_ptr<Opening>> openings_;
  std::string bound_;
};

}  // namespace rde
