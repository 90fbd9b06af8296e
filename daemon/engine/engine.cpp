#include "engine/engine.h"

#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/signalfd.h>

#include <csignal>
#include <cstdio>
#include <future>

#include "control/memory_limit.h"
#include "engine/engine_io.h"
#include "engine/notify.h"

namespace rde {
namespace {

constexpr Nanoseconds kDrainTime = 4 * kSecond;  // the rest of the five seconds is for closing

unsigned allowed_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
}

}  // namespace

Engine::Engine(const Config& config) : config_(config) {}

Engine::~Engine() = default;

Result<void> Engine::start() {
  if (auto checked = check_memory(config_, memory_limit()); !checked) return checked;
  // Two lives of an engine must never look alike, not even within one clock tick.
  if (getrandom(&epoch_, sizeof epoch_, 0) != sizeof epoch_) return system_error("getrandom", errno);
  auto loop = EventLoop::make();
  if (!loop) return loop.error();
  loop_.emplace(std::move(*loop));
  if (auto opened = open_signals(); !opened) return opened;
  if (auto started = start_storage(); !started) return started;
  if (auto started = start_shards(); !started) return started;
  attach_ = std::make_unique<AttachService>(config_, epoch_, *loop_, shards_);
  if (auto started = attach_->start(); !started) return started;
  if (auto started = start_ipc_door(); !started) return started;
  if (auto started = start_metrics(); !started) return started;
  announce_ready();
  return {};
}

Result<void> Engine::open_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  // Before any thread is made, so that all inherit it.
  if (const int code = pthread_sigmask(SIG_BLOCK, &set, nullptr); code != 0) return system_error("block signals", code);
  signals_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return system_error("signalfd", errno);
  return loop_->add(signals_.get(), [this] { on_signal(); });
}

Result<void> Engine::start_storage() {
  StoreOptions options;
  options.folders = config_.exports;
  options.warn = [](std::string_view text) { spdlog::warn("storage: {}", text); };
  auto store = VolumeStore::open(std::move(options));
  if (!store) return store.error().in("--export");
  volumes_ = std::move(*store);
  if (!config_.exports.empty()) spdlog::info("exporting volumes={}", volumes_->served().size());
  return {};
}

Result<void> Engine::start_shards() {
  const auto processors = allowed_processors();
  auto cores = config_.cores;
  if (cores.empty()) cores.push_back(-1);
  auto mode = config_.poll;
  if (mode == PollMode::spin && processors < 2) {
    spdlog::warn("--poll spin on {} processor would starve what it waits for; using adaptive", processors);
    mode = PollMode::adaptive;
  }
  // One more slab than shards: for the older socket.
  sessions_ = std::make_shared<SessionTable>(
      SessionOptions{config_.max_sessions, config_.session_timeout, static_cast<unsigned>(cores.size()) + 1});
  regions_ = std::make_shared<RegionTable>(epoch_);
  for (unsigned i = 0; i < cores.size(); ++i) {
    ShardOptions options;
    options.index = i;
    options.cpu = cores[i];
    options.mode = mode;
    // A read has three pollers: the client, this engine, and the storage engine, often on this very host.
    options.crowded = processors < cores.size() + 2;
    options.default_deadline = config_.default_deadline;
    options.sessions = sessions_;
    options.regions = regions_;
    shards_.push_back(std::make_unique<Shard>(
        options, engine_io_factory({&config_, volumes_.get(), regions_.get(), epoch_, i == 0, &bound_}), resolver_));
    if (auto started = shards_.back()->start(); !started) return started;
  }
  std::promise<ShardIo::Summary> summary;
  shards_[0]->post([&](Shard& shard) { summary.set_value(shard.io_st().summary()); });
  summary_ = summary.get_future().get();
  return {};
}

Result<void> Engine::start_ipc_door() {
  if (config_.ipc_socket.empty()) return {};
  auto door = compat::IpcDoor::open(config_, {.sessions = sessions_,
                                              .slab = static_cast<unsigned>(shards_.size()),
                                              .epoch = epoch_,
                                              .device = summary_.device});
  if (!door) return door.error();
  ipc_door_ = std::move(*door);
  spdlog::info("older protocol socket={}", config_.ipc_socket);
  return {};
}

Result<void> Engine::start_metrics() {
  if (!config_.metrics) return {};
  auto server = MetricsServer::open(*config_.metrics, [this] { return read_metrics(); });
  if (!server) return server.error();
  metrics_ = std::move(*server);
  spdlog::info("metrics http://{}:{}/metrics", config_.metrics->host, metrics_->port());
  return {};
}

void Engine::announce_ready() const {
  std::printf("ready socket=%s listen=%s transport=%s\n", config_.socket.c_str(), bound_.empty() ? "-" : bound_.c_str(),
              summary_.transport.c_str());
  std::fflush(stdout);
  notify_service_manager("READY=1");
}

void Engine::run() {
  while (!stopping_) {
    loop_->run_once(1000);
    attach_->tick();
  }
  stop();
}

void Engine::on_signal() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {
      reload();
    } else {
      spdlog::info("stopping signal={}", info.ssi_signo);
      stopping_ = true;
    }
  }
}

void Engine::reload() {
  if (config_.config_file.empty()) {
    spdlog::info("SIGHUP: no --config file to read again");
    return;
  }
  const auto config = read_config_file(config_.config_file);
  if (!config) {
    spdlog::error("SIGHUP: {}; the running configuration stays", config.error().text);
    return;
  }
  spdlog::set_level(spdlog::level::from_str(config->log_level));
  attach_->reload(*config);
  if (ipc_door_) ipc_door_->reload(*config);
  spdlog::info("SIGHUP: read {} again: log_level, allow_uid and allow_gid are in force; the rest needs a restart",
               config_.config_file);
}

void Engine::stop() {
  notify_service_manager("STOPPING=1");
  attach_->refuse_new();
  std::vector<std::thread> stops;
  if (ipc_door_) stops.emplace_back([this] { ipc_door_->stop(); });
  for (auto& shard : shards_) stops.emplace_back([&shard] { shard->stop(kDrainTime); });
  for (auto& thread : stops) thread.join();
  spdlog::info("stopped");
}

}  // namespace rde
