// What a load is told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "load/mix.h"
#include "load/objects.h"

namespace rde::tools {

struct LoadOptions {
  std::string socket = "/run/rdma-engine/attach.sock";
  std::uint32_t producers = 1;  // threads of each process, each on a channel of its own
  std::uint32_t processes = 1;
  std::uint32_t depth = 16;  // operations that a producer keeps running
  Mix mix;
  std::vector<LoadObject> objects;
  Nanoseconds duration = 5 * kSecond;
  double rate = 0;                     // operations per second of all producers; 0: closed loop
  std::uint32_t piece = 1U << 20;      // bytes of one read request; larger objects take several
  std::uint64_t segment_size = 0;      // bytes; 0: enough for what is asked
  Nanoseconds timeout = 10 * kSecond;  // of one request
  Nanoseconds drain = 30 * kSecond;    // for what runs when the time is over
  bool reattach = false;
  std::uint32_t worker = 0;  // which of the processes this is; each takes the objects in another order
  bool spin = false;         // never sleep while waiting for the engine
};

// The ring that holds `depth` requests beside the credits that only CANCEL may use; 0 when there is none so large.
std::uint32_t ring_depth_for(std::uint32_t depth);
// The segment that gives every place of every producer a buffer; 0 (the engine's default) where no buffers are needed.
std::uint64_t segment_size_for(const LoadOptions& options);

}  // namespace rde::tools
