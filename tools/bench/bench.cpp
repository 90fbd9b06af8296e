#include "bench/bench.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "bench/volume_file.h"

namespace rde::tools {

Bench::~Bench() {
  engines_.clear();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> Bench::folder() {
  if (folder_.empty()) {
    std::error_code failed;
    const auto parent = std::filesystem::temp_directory_path(failed);
    auto pattern = (failed ? "/tmp" : parent.string()) + "/ring-bench-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) return system_error("make a folder " + pattern, errno);
    folder_ = pattern;
  }
  return folder_;
}

Result<EngineProcess*> Bench::engine(const EngineSpec& spec) {
  auto& engine = engines_[spec.name];
  if (!engine) {
    if (options_.engine.empty()) {
      return Error{Status::system_error, "rdma-engine is not beside this program; name it with --engine"};
    }
    const auto folder = this->folder();
    if (!folder) return folder.error();
    quiet();
    auto started = EngineProcess::start(spec, options_.engine, *folder);
    if (!started) return started.error();
    engine = std::move(*started);
  }
  for (auto& [name, other] : engines_) {
    if (other && other != engine && other->spins()) other->pause();
  }
  engine->resume();
  return engine.get();
}

Result<EngineProcess*> Bench::spinning_engine() {
  return engine(
      {.name = "spin", .arguments = {"--poll", "spin", "--cores", std::to_string(placement_.engine)}, .spins = true});
}

Result<EngineProcess*> Bench::sleeping_engine() {
  return engine(
      {.name = "adaptive", .arguments = {"--poll", "adaptive", "--cores", std::to_string(placement_.engine)}});
}

Result<EngineProcess*> Bench::storage_engine() {
  const auto store = this->store();
  if (!store) return store.error();
  return engine({.name = "storage",
                 .arguments = {"--export", store->folder, "--listen", "127.0.0.1:0", "--transport", "tcp", "--cores",
                               std::to_string(placement_.engine)}});
}

Result<EngineProcess*> Bench::gateway_engine() {
  const auto storage = storage_engine();
  if (!storage) return storage.error();
  return engine({.name = "gateway", .arguments = {"--peer", (*storage)->listen(), "--transport", "tcp"}});
}

void Bench::quiet() {
  for (auto& [name, engine] : engines_) {
    if (engine && engine->spins()) engine->pause();
  }
}

std::vector<double> Bench::pingpong(Nanoseconds length) {
  std::vector<EngineProcess*> stopped;
  for (auto& [name, engine] : engines_) {
    if (engine && engine->spins() && !engine->is_paused()) stopped.push_back(engine.get());
  }
  quiet();
  auto samples = raw_pingpong(placement_, length);
  for (auto* engine : stopped) engine->resume();
  return samples;
}

Result<Bench::Store> Bench::store() {
  if (store_.size != 0) return store_;
  const auto folder = this->folder();
  if (!folder) return folder.error();
  const Store made{.folder = *folder + "/volumes", .file = *folder + "/volumes/1.dat", .size = kStoreObject};
  if (auto written = write_volume(made.folder, kStoreVolume, made.size); !written) return written.error();
  store_ = made;
  return store_;
}

}  // namespace rde::tools
