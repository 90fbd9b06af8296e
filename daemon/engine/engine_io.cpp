#include "engine/engine_io.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "engine/network.h"
#include "storage/storage_reader.h"

namespace rde {
namespace {

class EngineIo final : public ShardIo {
 public:
  EngineIo(const EngineIoOptions& options, std::unique_ptr<StorageReader> reader, std::unique_ptr<Network> network)
      : options_(options), reader_(std::move(reader)), network_(std::move(network)) {
    if (network_ && !network_->staging().empty()) reader_->add_memory(network_->staging());
  }
  // Jobs end while their clients still exist; the transport lets go of the arenas that are left.
  ~EngineIo() override {
    if (network_) {
      network_->stop();
      for (const Nanoseconds until = now_ns() + kCloseTime; !network_->is_stopped() && now_ns() < until;)
        progress(now_ns());
      network_->close();
      if (!network_->staging().empty()) reader_->remove_memory(network_->staging());
    }
    reader_.reset();
  }

  unsigned progress(Nanoseconds now) override {
    unsigned done = reader_->progress();
    if (network_) done += network_->progress(now);
    return done;
  }
  [[nodiscard]] bool busy() const override { return reader_->busy() || (network_ && network_->busy()); }
  [[nodiscard]] Nanoseconds next_timer() const override {
    const Nanoseconds storage = reader_->next_timer();
    const Nanoseconds peers = network_ ? network_->next_timer() : 0;
    return storage == 0 || peers == 0 ? storage + peers : std::min(storage, peers);
  }
  [[nodiscard]] std::vector<int> event_descriptors() const override {
    std::vector<int> descriptors{reader_->event_descriptor()};
    if (network_ && network_->transport().event_descriptor() >= 0)
      descriptors.push_back(network_->transport().event_descriptor());
    return descriptors;
  }
  bool arm() override { return reader_->arm() && (!network_ || network_->transport().arm()); }

  Result<ArenaMemory> add_arena(std::span<std::byte> arena) override {
    reader_->add_memory(arena);
    if (!network_) return ArenaMemory{};
    auto memory = network_->transport().add_memory(arena);
    if (!memory) {
      spdlog::error("arena not registered; its client can read this engine's volumes only: {}", memory.error().text);
      return memory.error();
    }
    return ArenaMemory{*memory};
  }
  void remove_arena(std::span<std::byte> arena, ArenaMemory memory) override {
    reader_->remove_memory(arena);
    if (memory.transport != nullptr) network_->transport().remove_memory(memory.transport);
  }

  [[nodiscard]] std::optional<Handle> route(std::uint32_t volume) const override {
    const bool local = !network_ || !network_->is_simulated();
    if (local && volumes()->find(volume) != nullptr) return Handle{};
    return network_ ? network_->hub().find_volume(volume) : std::nullopt;
  }
  [[nodiscard]] Status check_peer(Handle peer) const override {
    return network_ ? network_->hub().state(peer) : Status::invalid_handle;
  }
  void submit(Handle peer, ObjectJob& job, ArenaMemory memory) override {
    if (peer.is_null()) return reader_->submit(job);
    network_->hub().submit(peer, job, *memory.transport);
  }
  void cancel(Handle peer, ObjectJob& job) override {
    if (peer.is_null()) return reader_->cancel(job);
    network_->hub().cancel(job);
  }

  [[nodiscard]] Status check_region_peer(Handle peer) const override {
    return network_ ? network_->hub().region_state(peer) : Status::invalid_handle;
  }
  void submit(Handle peer, RegionJob& job, ArenaMemory memory) override {
    network_->hub().submit(peer, job, *memory.transport);
  }
  void cancel(Handle /*peer*/, RegionJob& job) override { network_->hub().cancel(job); }

  Result<Handle> open_peer(const SocketAddress& where, Opened opened) override {
    if (!network_) return Error{Status::not_supported, "this engine was built without a transport"};
    return network_->open_peer(where, std::move(opened));
  }
  void close_peer(Handle peer) override {
    if (network_) network_->hub().close(peer);
  }
  void drain() override {
    if (network_) network_->drain();
  }

  [[nodiscard]] Summary summary() const override {
    Summary summary;
    summary.transport = network_ ? network_->transport().name() : "none";
    if (network_) {
      summary.device = network_->transport().device();
      summary.real_rdma = network_->transport().is_rdma();
      summary.peers_ready = static_cast<std::uint32_t>(network_->hub().ready_peers());
    }
    summary.volumes = static_cast<std::uint32_t>(volumes()->served().size());
    return summary;
  }

 private:
  // The set changes rarely, and looking it up takes a lock: kept until its version moves on.
  const VolumeSet* volumes() const {
    if (options_.volumes->version() != version_) {
      version_ = options_.volumes->version();
      set_ = options_.volumes->volumes();
    }
    return set_.get();
  }

  static constexpr Nanoseconds kCloseTime = 800 * kMillisecond;

  EngineIoOptions options_;
  std::unique_ptr<StorageReader> reader_;
  std::unique_ptr<Network> network_;
  mutable std::shared_ptr<const VolumeSet> set_;
  mutable std::uint64_t version_ = ~std::uint64_t{0};
};

}  // namespace

ShardIo::Factory engine_io_factory(const EngineIoOptions& options) {
  return [options]() -> Result<std::unique_ptr<ShardIo>> {
    auto reader = StorageReader::open(*options.volumes);
    if (!reader) return reader.error().in("storage");
    auto network = Network::open(
        {options.config, options.volumes, reader->get(), options.regions, options.epoch, options.listens});
    if (!network) return network.error();
    if (*network && options.listens) *options.bound = (*network)->bound();
    return std::unique_ptr<ShardIo>(std::make_unique<EngineIo>(options, std::move(*reader), std::move(*network)));
  };
}

}  // namespace rde
