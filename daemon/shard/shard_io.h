// Where a shard's bytes come from: its storage reader and its peers, behind one face.
//
//   auto peer = io.route(volume);
//   if (peer) io.submit(*peer, job, memory);           // job.on_done() comes later, from progress()
//   io.progress(now_ns());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/handle.h"
#include "base/host_port.h"
#include "base/status.h"
#include "object/object_source.h"
#include "region/region_job.h"

namespace rde {

class Memory;

// The arena of a client, known to transport and storage.
struct ArenaMemory {
  Memory* transport = nullptr;
};

// Owner thread only, from the factory on. The destructor ends every transfer that is left, then lets go of the arenas
// that were not removed; it need not call on_done, but may.
class ShardIo {
 public:
  // Called on the shard's thread.
  using Factory = std::function<Result<std::unique_ptr<ShardIo>>()>;
  // How an attempt to reach a peer ended. Called once for each open_peer() that did not fail, from there or later.
  using Opened = std::function<void(Handle peer, Status status)>;

  virtual ~ShardIo() = default;

  virtual unsigned progress(Nanoseconds now) = 0;
  [[nodiscard]] virtual bool busy() const = 0;
  [[nodiscard]] virtual Nanoseconds next_timer() const = 0;  // 0 = none
  [[nodiscard]] virtual std::vector<int> event_descriptors() const = 0;
  virtual bool arm() = 0;  // false: there is news already

  virtual Result<ArenaMemory> add_arena(std::span<std::byte> arena) = 0;
  virtual void remove_arena(std::span<std::byte> arena, ArenaMemory memory) = 0;

  // Who serves a volume: a null handle means this engine itself.
  [[nodiscard]] virtual std::optional<Handle> route(std::uint32_t volume) const = 0;
  // ok, or why a handle cannot be used now: invalid_handle, stale_handle, peer_down, not_supported.
  [[nodiscard]] virtual Status check_peer(Handle peer) const = 0;
  virtual void submit(Handle peer, ObjectJob& job, ArenaMemory memory) = 0;
  // The peer may have been closed or lost since.
  virtual void cancel(Handle peer, ObjectJob& job) = 0;

  // As check_peer, of a peer whose regions are to be used: not_supported where its engine knows none.
  [[nodiscard]] virtual Status check_region_peer(Handle peer) const = 0;
  // A use of a region that the peer's engine exposed.
  virtual void submit(Handle peer, RegionJob& job, ArenaMemory memory) = 0;
  virtual void cancel(Handle peer, RegionJob& job) = 0;

  // A static peer is kept for ever; another goes when it is closed.
  virtual Result<Handle> open_peer(const SocketAddress& where, Opened opened) = 0;
  virtual void close_peer(Handle peer) = 0;
  // Refuses peers' new requests, says good-bye.
  virtual void drain() = 0;

  struct Summary {
    std::string transport;
    std::string device;
    bool real_rdma = false;
    std::uint32_t peers_ready = 0;
    std::uint32_t volumes = 0;
  };
  [[nodiscard]] virtual Summary summary() const = 0;
};

}  // namespace rde
