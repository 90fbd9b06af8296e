// Reads of the store's object through a ring, for measures.
//
//   auto reads = RingReads::attach(engine->socket(), {.length = 64 << 10, .outstanding = 8});
//   auto samples = reads->pace(length);                 // MiB a second
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "client/client.h"

namespace rde::tools {

// The id of the object that Bench::store() holds.
std::string store_object();

struct RingReadPlan {
  std::uint32_t length = 0;
  std::uint32_t outstanding = 1;
  bool skip_crc = false;
  bool random = false;  // offsets; else in order
};

class RingReads {
 public:
  static Result<RingReads> attach(const std::string& socket, const RingReadPlan& plan);

  // MiB a second: one figure for the whole time. Errors: what the engine answers.
  Result<std::vector<double>> pace(Nanoseconds length);
  // One read after another: microseconds each.
  Result<std::vector<double>> latencies(Nanoseconds length);

 private:
  RingReads(std::unique_ptr<Client> client, const RingReadPlan& plan) : client_(std::move(client)), plan_(plan) {}
  Result<void> submit(std::uint64_t buffer);
  // Waits for one; the number of its buffer.
  Result<std::uint64_t> reap();

  std::unique_ptr<Client> client_;
  RingReadPlan plan_;
  std::vector<Buffer> buffers_;
  std::mt19937_64 random_;
  std::uint64_t next_ = 0;
};

}  // namespace rde::tools
