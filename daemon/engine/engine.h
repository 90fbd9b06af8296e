// One life of the daemon: starts the parts in order, serves until a signal, ends them in order.
//
//   Engine engine(config);
//   if (auto started = engine.start(); !started) …
//   engine.run();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "compat/ipc_door.h"
#include "config/config.h"
#include "control/attach_service.h"
#include "control/event_loop.h"
#include "control/resolver.h"
#include "metrics/metrics.h"
#include "region/region_table.h"
#include "session/session_table.h"
#include "shard/shard.h"
#include "storage/volume_store.h"

namespace rde {

class Engine {
 public:
  explicit Engine(const Config& config);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Takes TERM, INT and HUP for itself. Errors say what could not be had and what to change.
  Result<void> start();
  // Serves until SIGTERM or SIGINT, then drains within five seconds.
  void run();

 private:
  Result<void> open_signals();
  Result<void> start_storage();
  Result<void> start_shards();
  Result<void> start_metrics();
  Result<void> start_ipc_door();
  void announce_ready() const;
  void on_signal();
  void reload();
  void stop();
  [[nodiscard]] std::vector<Metric> read_metrics() const;

  Config config_;
  std::uint64_t epoch_ = 0;
  std::optional<EventLoop> loop_;
  Descriptor signals_;
  Resolver resolver_;
  std::unique_ptr<VolumeStore> volumes_;
  std::shared_ptr<SessionTable> sessions_;
  std::shared_ptr<RegionTable> regions_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<AttachService> attach_;
  std::unique_ptr<compat::IpcDoor> ipc_door_;
  std::unique_ptr<MetricsServer> metrics_;
  std::string bound_;  // HOST:PORT that peers connect to; "-" without --listen
  ShardIo::Summary summary_;
  bool stopping_ = false;
};

}  // namespace rde
