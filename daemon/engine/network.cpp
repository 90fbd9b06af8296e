#include "engine/network.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "engine/make_transport.h"
#include "peer/psk.h"
#include "version.h"

namespace rde {

// Waits for one peer to become ready.
class Network::Opening final : public OpenObserver {
 public:
  explicit Opening(ShardIo::Opened opened) : opened_(std::move(opened)) {}
  void on_open(Handle peer, Status status) override {
    is_over = true;
    opened_(peer, status);
  }
  bool is_over = false;

 private:
  ShardIo::Opened opened_;
};

class Network::ExportedVolumes final : public VolumeList {
 public:
  explicit ExportedVolumes(const VolumeStore& store) : store_(store) {}
  [[nodiscard]] std::uint64_t generation() const override { return store_.generation(); }
  void list(std::vector<std::uint32_t>& ids) const override {
    const auto served = store_.served();
    ids.insert(ids.end(), served.begin(), served.end());
  }

 private:
  const VolumeStore& store_;
};

Network::Network(const NetworkOptions& options) : options_(options) {}

Network::~Network() = default;

Result<std::unique_ptr<Network>> Network::open(const NetworkOptions& options) {
  std::unique_ptr<Network> network(new Network(options));
  network->exported_ = std::make_unique<ExportedVolumes>(*options.volumes);
  if (options.config->transport == TransportChoice::sim) {
    if (auto opened = network->open_sim_peer(); !opened) return opened.error();
  } else {
    auto transport = make_transport(*options.config);
    if (!transport) return transport.error();
    if (!*transport) return std::unique_ptr<Network>();
    network->transport_ = std::move(*transport);
  }
  if (auto opened = network->open_hub(); !opened) return opened.error();
  if (auto listening = network->listen(); !listening) return listening.error();
  if (auto added = network->add_static_peers(); !added) return added.error();
  return network;
}

Result<void> Network::open_sim_peer() {
  const Config& config = *options_.config;
  if (config.listen || !config.peers.empty()) {
    return Error{Status::invalid_request,
                 "--transport sim ends at this process: leave out --listen and --peer, or use tcp"};
  }
  if (auto allocated = allocate_staging(); !allocated) return allocated;
  auto peer = SimPeer::open(*options_.local, *exported_, *staging_, options_.regions);
  if (!peer) return peer.error().in("--transport sim");
  sim_peer_ = std::move(*peer);
  transport_ = sim_peer_->make_transport();
  return {};
}

Result<void> Network::allocate_staging() {
  auto staging = Staging::allocate(options_.config->buffer_size, options_.config->hugepages);
  if (!staging) return staging.error();
  staging_ = std::make_unique<Staging>(std::move(*staging));
  return {};
}

Result<void> Network::open_hub() {
  const Config& config = *options_.config;
  PeerOptions peer_options;
  peer_options.engine = options_.epoch;
  peer_options.engine_version = kVersion;
  peer_options.transport_version = transport_version(transport_->name());
  if (!config.psk_file.empty()) {
    auto key = read_psk(config.psk_file);
    if (!key) return key.error();
    peer_options.psk = std::move(*key);
  }
  PeerParts parts{.transport = *transport_};
  if (options_.listens && config.listen) {
    if (auto allocated = allocate_staging(); !allocated) return allocated;
    parts.source = options_.local;
    parts.volumes = exported_.get();
    parts.staging = staging_->bytes();
    parts.regions = options_.regions;
  }
  auto hub = PeerHub::create(parts, peer_options);
  if (!hub) return hub.error();
  hub_ = std::move(*hub);
  return {};
}

Result<void> Network::listen() {
  if (!options_.listens || !options_.config->listen) return {};
  const auto where = resolve(*options_.config->listen);
  if (!where) return where.error().in("--listen");
  const auto bound = hub_->listen(*where);
  if (!bound) return bound.error().in("--listen " + where->text());
  bound_ = bound->text();
  return {};
}

Result<void> Network::add_static_peers() {
  if (sim_peer_) {
    if (auto added = hub_->add_static(sim_peer_->address()); !added) return added.error();
  }
  for (const auto& peer : options_.config->peers) {
    const auto where = resolve(peer);
    if (!where) return where.error().in("--peer");
    // What the operator named is allowed; the list is for what clients name.
    if (auto added = hub_->add_static(*where); !added) return added.error().in("--peer " + peer.text());
  }
  return {};
}

unsigned Network::progress(Nanoseconds now) {
  unsigned done = hub_->progress(now);
  if (sim_peer_) done += sim_peer_->hub().progress(now);
  return done;
}

bool Network::busy() const { return hub_->busy() || (sim_peer_ && sim_peer_->hub().busy()); }

Nanoseconds Network::next_timer() const {
  Nanoseconds due = hub_->next_timer();
  if (sim_peer_) due = std::min(due, sim_peer_->hub().next_timer());
  return due == kNoTimer ? 0 : due;
}

void Network::drain() { hub_->drain(); }

void Network::stop() {
  hub_->stop();
  if (sim_peer_) sim_peer_->hub().stop();
}

bool Network::is_stopped() const { return hub_->is_stopped() && (!sim_peer_ || sim_peer_->hub().is_stopped()); }

void Network::close() {
  hub_.reset();
  if (sim_peer_) sim_peer_->close();
}

Result<Handle> Network::open_peer(const SocketAddress& where, ShardIo::Opened opened) {
  if (!is_allowed(options_.config->allow_peer, where)) {
    spdlog::warn("CONNECT refused peer={} reason=\"not within --allow-peer\"", where.text());
    return Error{Status::peer_not_allowed, where.text() + " is not within --allow-peer"};
  }
  std::erase_if(openings_, [](const auto& opening) { return opening->is_over; });
  openings_.push_back(std::make_unique<Opening>(std::move(opened)));
  auto handle = hub_->open(where, openings_.back().get());
  if (!handle) openings_.pop_back();
  return handle;
}

}  // namespace rde
