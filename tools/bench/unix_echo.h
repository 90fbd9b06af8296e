// Messages of 64 bytes over a Unix socket to a plain echo on the engine's processor: the least that any protocol over
// such a socket costs.
//
//   auto echo = UnixEcho::start(placement);
//   auto samples = (*echo)->round_trips(length);
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/status.h"
#include "bench/placement.h"

namespace rde::tools {

class UnixEcho {
 public:
  static Result<std::unique_ptr<UnixEcho>> start(const Placement& placement);
  UnixEcho(const UnixEcho&) = delete;
  UnixEcho& operator=(const UnixEcho&) = delete;
  ~UnixEcho();

  // Nanoseconds each, one at a time.
  Result<std::vector<double>> round_trips(Nanoseconds length);
  // Messages a second, with up to `outstanding` on their way, written and read in as few calls as the socket allows.
  Result<std::vector<double>> rate(Nanoseconds length, std::size_t outstanding);

 private:
  UnixEcho(Descriptor here, Descriptor there, const Placement& placement);

  Descriptor here_;
  Descriptor there_;
  std::jthread other_;
};

}  // namespace rde::tools
