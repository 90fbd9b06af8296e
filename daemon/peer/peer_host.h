// What a connection to a peer needs of the hub that it belongs to.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "peer/peer_options.h"
#include "transport/transport.h"

namespace rde {

class PeerTask;
class RemotePeer;

struct PeerCounters {
  std::uint64_t reads = 0;  // jobs ended well
  std::uint64_t read_bytes = 0;
  std::uint64_t failed_reads = 0;   // jobs ended otherwise
  std::uint64_t connects = 0;       // peers that became ready
  std::uint64_t refused_peers = 0;  // links that failed to greet or broke the protocol
  std::uint64_t serves = 0;         // requests of peers answered
  std::uint64_t served_bytes = 0;
  std::uint64_t region_uses = 0;  // of peers' regions, ended well
  std::uint64_t failed_region_uses = 0;
};

class PeerHost {
 public:
  [[nodiscard]] virtual Nanoseconds now() const = 0;
  [[nodiscard]] virtual const PeerOptions& options() const = 0;
  virtual Transport& transport() = 0;
  virtual PeerCounters& counters() = 0;
  // tick() is wanted at `due` or soon after.
  virtual void schedule(Nanoseconds due) = 0;
  // The task has ended; its job is told later, from progress().
  virtual void finish(PeerTask& task) = 0;
  // An attempt to reach the peer has ended: ok = it is ready.
  virtual void on_attempt(RemotePeer& peer, Status status) = 0;
  virtual std::uint32_t random() = 0;

 protected:
  ~PeerHost() = default;
};

}  // namespace rde
