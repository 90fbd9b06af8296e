// What a load has done so far. Tallies of threads and of processes add up.
//
//   Tally total;
//   total.merge(producer.tally());
//   Json line = to_json(total);  auto same = tally_from_json(line);
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "common/histogram.h"
#include "load/mix.h"

namespace rde::tools {

struct Tally {
  struct PerOp {
    Histogram latency;  // nanoseconds, of those that went well
    std::uint64_t failed = 0;
  };
  std::array<PerOp, kOps> ops;
  std::map<std::string, std::uint64_t> errors;  // by status name, or wrong_bytes, wrong_size, wrong_crc, no_answer
  std::uint64_t requests = 0;                   // a large object takes several
  std::uint64_t bytes = 0;                      // of objects, received
  std::uint64_t bytes_verified = 0;
  std::uint64_t objects_verified = 0;
  std::uint64_t wrong = 0;        // answers that are not what the objects file says
  std::uint64_t engine_gone = 0;  // how often an engine was lost
  std::uint64_t reattached = 0;
  std::uint64_t not_sent = 0;  // open loop: operations that were due before the end and found no free place

  void merge(const Tally& other);
  [[nodiscard]] std::uint64_t done() const;
  [[nodiscard]] std::uint64_t failed() const;
};

// All of a tally, with every bucket.
nlohmann::json to_json(const Tally& tally);
// Errors: invalid_request, for a text that to_json did not make.
Result<Tally> tally_from_json(const nlohmann::json& json);

}  // namespace rde::tools
