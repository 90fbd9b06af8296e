// What measures share: options, processors, and the engines that they talk to.
//
//   Bench bench(options);
//   auto engine = bench.spinning_engine();          // started at the first call
//   round.reference = bench.pingpong(length / 2);
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/engine_process.h"
#include "bench/placement.h"

namespace rde::tools {

struct BenchOptions {
  // Paths; empty where the program is not there.
  std::string engine;     // rdma-engine
  std::string go_client;  // ring-bench-go
  std::string c_client;   // ring-bench-c
  std::string requester;  // ring-bench-read
  std::string sidecar;    // rdma-sidecar
  std::string peers;      // folder of the programs of tests/peers
  unsigned rounds = 5;
  Nanoseconds round_length = 400 * kMillisecond;  // of each measure in each round
};

class Bench {
 public:
  explicit Bench(BenchOptions options) : options_(std::move(options)), placement_(choose_placement()) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  [[nodiscard]] const BenchOptions& options() const { return options_; }
  [[nodiscard]] const Placement& placement() const { return placement_; }

  // A folder for sockets, logs and volumes, removed at the end.
  Result<std::string> folder();

  // The engine of this name, started at the first call. It runs; every other that spins stands still from now on.
  // Errors: operation_failed with the end of its log.
  Result<EngineProcess*> engine(const EngineSpec& spec);
  // The one that most measures talk to: spins, alone on its processor.
  Result<EngineProcess*> spinning_engine();
  // One that sleeps when there is nothing to do, on the same processor.
  Result<EngineProcess*> sleeping_engine();
  // One that exports the store to other engines, on the same processor, and one whose peer that is.
  Result<EngineProcess*> storage_engine();
  Result<EngineProcess*> gateway_engine();
  // Every engine that spins stands still until the next engine(): for references.
  void quiet();

  // The raw ping-pong between the two processors, with quiet engines meanwhile: nanoseconds a round trip.
  std::vector<double> pingpong(Nanoseconds length);

  // A folder with one volume of one large object of random bytes, made at the first call.
  struct Store {
    std::string folder;
    std::string file;  // the .dat
    std::uint64_t size = 0;
  };
  Result<Store> store();

 private:
  BenchOptions options_;
  Placement placement_;
  std::string folder_;
  Store store_;
  std::map<std::string, std::unique_ptr<EngineProcess>> engines_;
};

// Raw round trips of a cache line between two processors: nanoseconds, means of batches of 256.
std::vector<double> raw_pingpong(const Placement& placement, Nanoseconds length);

}  // namespace rde::tools
