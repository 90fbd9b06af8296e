// What measures share: options, processors, and the engine that they talk to.
//
//   Bench bench(options);
//   auto socket = bench.engine_socket();          // starts it at the first call
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/child.h"
#include "bench/placement.h"

namespace rde::tools {

struct BenchOptions {
  std::string engine;     // path of rdma-engine
  std::string go_client;  // path of ring-bench-go
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

  // A folder for sockets and logs, removed at the end.
  Result<std::string> folder();

  // An engine that spins on its own processor. Errors: operation_failed with the end of its log.
  Result<std::string> engine_socket();
  // The raw ping-pong between the two processors, with that engine standing still meanwhile: nanoseconds a round trip.
  std::vector<double> pingpong(Nanoseconds length);

 private:
  BenchOptions options_;
  Placement placement_;
  std::string folder_;
  std::string socket_;
  std::unique_ptr<Child> engine_;
};

// Raw round trips of a cache line between two processors: nanoseconds, means of batches of 256.
std::vector<double> raw_pingpong(const Placement& placement, Nanoseconds length);

}  // namespace rde::tools
