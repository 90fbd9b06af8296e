// Reads of a peer's volume, made where a gateway engine makes them: through the I/O of a shard, without a ring.
//
//   auto requester = Requester::open(config, 1);           // config.peers names the storage engine
//   auto times = (*requester)->latencies({.length = 4096}, kSecond);
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "config/config.h"
#include "engine/staging.h"
#include "shard/shard_io.h"
#include "storage/volume_store.h"

namespace rde::tools {

struct ReadPlan {
  ObjectId object;
  std::uint64_t object_size = 0;
  std::uint32_t length = 0;       // of each read, in bytes
  std::uint32_t outstanding = 1;  // reads at once, each with a buffer of its own
  bool skip_crc = false;
};

class Requester {
 public:
  // Ready once the peer serves `volume`. `config` outlives the requester. Errors: peer_unreachable, those of a shard.
  static Result<std::unique_ptr<Requester>> open(const Config& config, std::uint32_t volume);
  Requester(const Requester&) = delete;
  Requester& operator=(const Requester&) = delete;
  ~Requester();

  struct Pace {
    std::vector<double> stream;  // MiB a second: one figure for the whole time
    std::vector<double> probe;   // microseconds of each 4 KiB read beside it
  };
  // Reads the object in order, again and again, beside 4 KiB reads, or not.
  enum class Probe : std::uint8_t {
    none,
    seldom,  // one each 5 ms: too few to cost the stream anything, enough for the engine to slice it as beside others
    always,  // one after another
  };
  Result<Pace> stream(const ReadPlan& plan, Nanoseconds time, Probe probe);
  // One read after another: microseconds each.
  Result<std::vector<double>> latencies(const ReadPlan& plan, Nanoseconds time);

 private:
  class Job;

  explicit Requester(const Config& config) : config_(config) {}
  Result<void> start(std::uint32_t volume);
  void submit(Job& job, const ReadPlan& plan, std::uint64_t offset, bool bulk);
  Result<void> wait_for(const std::vector<Job*>& jobs);

  const Config& config_;
  std::unique_ptr<VolumeStore> volumes_;
  std::unique_ptr<Staging> buffers_;
  std::unique_ptr<ShardIo> io_;
  ArenaMemory memory_;
  Handle peer_;
};

}  // namespace rde::tools
