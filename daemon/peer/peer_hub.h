// Engine to engine, for one shard: the peers that it reads from, and the peers that read from it.
//
//   auto hub = PeerHub::create({.transport = transport, .source = &storage, .volumes = &volumes,
//                               .staging = hugepages}, options);
//   (*hub)->listen(where);
//   Handle peer = *(*hub)->add_static(storage_host);
//   if (auto holder = (*hub)->find_volume(7)) (*hub)->submit(*holder, job, arena_memory);
//   for (;;) { storage.progress(); (*hub)->progress(now_ns()); }      // job.on_done() comes from here
//
// Owner thread only, as transport, source and volumes, which all outlive it. The source makes progress
// beside the hub, and must not any more once the hub is gone. It makes the transport's progress itself.
// The destructor ends what is left; to end politely, drain(), progress until !busy(), stop(), progress
// until is_stopped().
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handle.h"
#include "object/object_source.h"
#include "peer/peer_host.h"
#include "peer/remote_peer.h"
#include "peer/responder.h"
#include "peer/task_pools.h"
#include "peer/volumes.h"
#include "transport/transport.h"

namespace rde {

class OpenObserver {
 public:
  // From progress(), once for each open() that returned a handle. ok: the peer is ready, and the handle
  // is good until it is closed. Otherwise why not, and the handle is given back already.
  virtual void on_open(Handle peer, Status status) = 0;

 protected:
  ~OpenObserver() = default;
};

struct PeerParts {
  Transport& transport;
  ObjectSource* source = nullptr;       // null: this engine serves nothing
  const VolumeList* volumes = nullptr;  // null: none
  // Page-aligned, known to the source; 1.25 MiB at least where there is one.
  std::span<std::byte> staging;
  RegionTable* regions = nullptr;  // of this engine's clients, for its peers; null: none. Needs staging
};

struct PeerInfo {
  Handle handle;
  std::string address;
  RemotePeer::State state = RemotePeer::State::waiting;
  bool is_static = false;
  std::size_t volumes = 0;
  std::uint32_t in_flight = 0;
  std::size_t queued = 0;
  Nanoseconds round_trip = 0;
  std::string engine_version;
  std::string transport_version;
  std::string last_error;  // empty: none so far
};

class PeerHub final : private PeerHost {
 public:
  // invalid_request (names the option), registration_failed.
  static Result<std::unique_ptr<PeerHub>> create(const PeerParts& parts, const PeerOptions& options);
  virtual ~PeerHub();
  PeerHub(const PeerHub&) = delete;
  PeerHub& operator=(const PeerHub&) = delete;

  // Accepts peers; port 0 picks one. Without a key: peer_not_allowed for an address that is not loopback.
  Result<SocketAddress> listen(const SocketAddress& where);

  // A peer that is connected to for ever. Same errors as open().
  Result<Handle> add_static(const SocketAddress& where);
  // Connects, or shares the connection that there is. on_open comes later; `observer` may be null and
  // lives until then. too_many_peers, peer_not_allowed (no key), draining.
  Result<Handle> open(const SocketAddress& where, OpenObserver* observer);
  // Gives one open() back; with the last one the connection ends. permission_denied for a static peer
  // that nobody opened, invalid_handle, stale_handle.
  Status close(Handle peer);
  // ok (ready), peer_down, invalid_handle or stale_handle.
  [[nodiscard]] Status state(Handle peer) const;
  // The least busy ready peer that has announced the volume.
  [[nodiscard]] std::optional<Handle> find_volume(std::uint32_t volume) const;

  // As ObjectSource. `memory` is of this hub's transport and holds job.destination. A job ends also with
  // the statuses of state(), peer_busy (queue full), draining, network errors and deadline_exceeded.
  void submit(Handle peer, ObjectJob& job, Memory& memory);
  // Of a peer with regions.
  void submit(Handle peer, RegionJob& job, Memory& memory);
  void cancel(Job& job);
  // As state(); not_supported where the peer's engine takes no uses of regions.
  [[nodiscard]] Status region_state(Handle peer) const;

  // Answers how much it did; 0 = idle.
  unsigned progress(Nanoseconds now);
  [[nodiscard]] bool busy() const;
  [[nodiscard]] Nanoseconds next_timer() const;  // kNoTimer = none

  // Refuses new jobs and peers' new requests; what runs goes on.
  void drain();
  // Closes every link; jobs that run end with peer_down.
  void stop();
  [[nodiscard]] bool is_stopped() const;

  [[nodiscard]] std::vector<PeerInfo> list() const;
  [[nodiscard]] std::size_t ready_peers() const;
  [[nodiscard]] const PeerCounters& counts() const { return counters_; }
  [[nodiscard]] const Responder& responder() const { return *responder_; }
  [[nodiscard]] Memory& staging_memory() { return *staging_memory_; }

 private:
  struct Entry {
    std::uint32_t generation = 0;
    bool is_static = false;
    std::uint32_t opens = 0;
    Nanoseconds small_until = 0;  // large reads that begin before have small ones beside them
    std::unique_ptr<RemotePeer> peer;
    std::vector<OpenObserver*> waiting;
  };
  struct Notice {
    OpenObserver* observer;
    Handle peer;
    Status status;
  };

  PeerHub(const PeerParts& parts, const PeerOptions& options);
  Result<void> start(const PeerParts& parts);

  // PeerHost
  [[nodiscard]] Nanoseconds now() const override { return now_; }
  [[nodiscard]] const PeerOptions& options() const override { return options_; }
  Transport& transport() override { return transport_; }
  PeerCounters& counters() override { return counters_; }
  void schedule(Nanoseconds due) override { timer_ = due < timer_ ? due : timer_; }
  void finish(PeerTask& task) override;
  void on_attempt(RemotePeer& peer, Status status) override;
  std::uint32_t random() override;

  void admit(PeerTask& task, Status status);
  [[nodiscard]] SliceSizes sizes_for(const Entry* entry) const;
  Result<Entry*> entry_for(const SocketAddress& where);
  Entry* find(Handle peer);
  [[nodiscard]] const Entry* find(Handle peer) const;
  void run_timers();
  unsigned tell_openers();
  unsigned tell_jobs();
  void reap_closed();

  Transport& transport_;
  PeerOptions options_;
  Nanoseconds now_ = 0;
  Nanoseconds timer_ = kNoTimer;  // the earliest, or earlier
  std::uint64_t random_state_;
  PeerCounters counters_;
  bool draining_ = false;

  // Where nothing is served, answers still name a memory.
  alignas(4096) std::array<std::byte, 4096> no_staging_{};
  Memory* staging_memory_ = nullptr;
  std::unique_ptr<Responder> responder_;

  std::vector<Entry> entries_;
  std::vector<Notice> notices_;
  TaskPools tasks_;
  std::vector<PeerTask*> active_;  // not ended
  List<PeerTask> ended_;           // to be told
};

}  // namespace rde
