// A polling core: takes requests from its clients' rings, drives storage and peers, writes completions.
//
//   Shard shard(options, …);
//   auto started = shard.start();
//   shard.post([&](Shard& s) { s.add_client_st(std::move(client)); });   // from any thread
//   shard.stop(4 * kSecond);
//
// Everything that ends in `_st` is for the shard's own thread; so is all state behind it.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "control/resolver.h"
#include "region/local_regions.h"
#include "shard/client_state.h"
#include "shard/operation.h"
#include "shard/shard_io.h"
#include "shard/shard_options.h"
#include "shard/task_queue.h"
#include "shard/timer_wheel.h"

namespace rde {

class Shard {
 public:
  using Task = TaskQueue::Task;

  // `resolver` outlives the shard.
  Shard(const ShardOptions& options, ShardIo::Factory make_io, Resolver& resolver);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Starts the thread and opens its transport and storage there; answers how that went.
  Result<void> start();
  // Runs on the shard's thread soon; wakes it. Any thread. Order is kept. Never run once the shard has stopped.
  void post(Task task);
  // Refuses new requests, lets the running ones end for at most `bound` (in the last quarter they are cancelled and
  // answered `draining`), closes peers, ends the thread.
  void stop(Nanoseconds bound);

  [[nodiscard]] const ShardStats& stats() const { return stats_; }
  [[nodiscard]] const ShardOptions& options() const { return options_; }

  // Clients. `when_gone` runs on this thread once the last operation has ended and the segment is free.
  void add_client_st(NewClient client);
  void remove_client_st(std::uint64_t number, std::function<void()> when_gone);

  // For operations.
  ShardIo& io_st() {
    io_due_ = true;  // whoever asks may give it work
    return *io_;
  }
  // At most a few turns old.
  SessionTable& sessions_st() { return *sessions_; }
  RegionTable& regions_st() { return *regions_; }
  [[nodiscard]] bool draining_st() const { return draining_; }
  // Ends a request at once, or the first half of it.
  void complete_st(EngineChannel& channel, std::uint64_t tag, Status status, std::uint16_t flags = 0,
                   std::uint32_t bytes = 0, std::uint32_t crc = 0, std::uint64_t value = 0);
  // Keeps a request for later; null (and the request is answered) where that is not possible.
  Operation* begin_st(EngineChannel& channel, const rde_request& request);
  // Ends a kept operation: its only or its last completion.
  void end_st(Operation& operation, Status status, std::uint16_t flags, std::uint32_t bytes, std::uint32_t crc,
              std::uint64_t value);
  // Answers the client before the source is done with the buffer, and asks the source to end.
  void answer_early_st(Operation& operation, Status status);
  // Regions (shard_regions.cpp). `expires` of the region that the client has exposed.
  void watch_region_st(ClientState& client, Handle region, Nanoseconds expires);
  // The region is quiet: nothing more is known of it.
  void forget_region_st(ClientState& client, Handle region);
  // Ends the kept REGION_REVOKE, whose region is closed, once nobody uses the region any more.
  void end_revoke_st(Operation& operation);
  // Hands a kept operation to whoever has the region; or, where it is done by this shard, to its local queue.
  void use_region_st(Operation& operation);
  // A kept operation on a region has ended, with what its job says.
  void end_region_use_st(Operation& operation);
  // Looks a name up on another thread; `answer` runs on this one, at once for a numeric host, else later. Lookups of
  // one `asker` never hold up those of another.
  void resolve_st(std::uint64_t asker, const HostPort& where, std::function<void(const Result<SocketAddress>&)> answer);
  ShardStats& stats_st() { return stats_; }
  // The client broke the ring: nothing more is taken from this channel.
  void fault_st(EngineChannel& channel, Status status);

 private:
  // Life (shard.cpp).
  void run(std::promise<Result<void>>& started);
  Result<void> open();
  void begin_drain(Nanoseconds bound);
  void continue_drain();
  void close();
  // One round (shard_turn.cpp).
  bool turn();
  void run_tasks();
  bool run_io();
  bool poll_clients();
  bool poll_client(ClientState& client);
  unsigned poll_channel(EngineChannel& channel);
  void handle(EngineChannel& channel, const rde_request& request);
  bool make_cold(EngineChannel& channel);
  void heat(EngineChannel& channel);
  bool look_at_doorbells(std::size_t clients);
  void flush_completions();
  void publish_counters();
  // Sleeping (shard_sleep.cpp).
  Result<void> open_epoll();
  Result<void> watch(int descriptor, bool edge);
  void idle(unsigned quiet_turns);
  void sleep();
  bool announce_sleep();
  [[nodiscard]] bool has_news() const;
  void wake_up(bool slept, bool late);
  [[nodiscard]] int sleep_milliseconds() const;
  // Operations (shard_operations.cpp).
  void note_failure(EngineChannel& channel, std::uint64_t tag, Status status);
  // Regions (shard_regions.cpp).
  void cancel_job(Operation& operation);
  void expire_region(ExposedRegion& region);
  bool end_revokes();
  void close_regions(ClientState& client);
  bool drop_quiet_regions(ClientState& client);
  void wait_for_regions();
  void begin_flush(Operation& flush);
  // Clients (shard_clients.cpp).
  void cancel_operations(ClientState& client);
  bool free_gone_clients();

  template <class Visit>
  void for_each_hot(Visit visit) const {
    for (const ClientState* client : hot_clients_) {
      for (EngineChannel* channel : client->hot) visit(*channel);
    }
  }

  ShardOptions options_;
  ShardIo::Factory make_io_;
  Resolver& resolver_;
  std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
  std::vector<Task> running_tasks_;
  std::shared_ptr<SessionTable> sessions_;
  unsigned session_slab_ = 0;
  std::shared_ptr<RegionTable> regions_;
  LocalRegions local_regions_;
  std::unique_ptr<ShardIo> io_;
  std::thread thread_;
  Descriptor epoll_;

  Nanoseconds now_ = 0;
  Nanoseconds counters_due_ = 0;
  Nanoseconds drain_cancels_ = 0;
  Nanoseconds drain_ends_ = 0;
  bool draining_ = false;
  bool drain_cancelled_ = false;
  bool stopped_ = false;
  bool io_due_ = true;           // the transport is looked at in this turn
  int doorbell_steps_ = 0;       // until doorbells are looked at while something is hot
  int io_steps_ = 0;             // until it is looked at all the same
  unsigned io_quiet_looks_ = 0;  // at the transport, one after another

  std::unordered_map<std::uint64_t, std::unique_ptr<ClientState>> clients_;
  std::vector<ClientState*> client_order_;  // for the sweep over doorbells
  std::size_t next_client_ = 0;
  std::vector<ClientState*> hot_clients_;  // with a hot channel
  std::size_t hot_channels_ = 0;
  std::size_t live_channels_ = 0;  // of clients that are not gone
  std::vector<EngineChannel*> dirty_;
  std::unordered_map<std::uint64_t, std::function<void()>> gone_;
  OperationPool operations_;
  TimerWheel deadlines_;
  TimerWheel region_expiries_;
  std::vector<Operation*> revokes_;  // that wait for the last use of their region
  ShardStats stats_;
};

// Every operation ends here: inline, so that a channel's requests are one loop.
inline void Shard::complete_st(EngineChannel& channel, std::uint64_t tag, Status status, std::uint16_t flags,
                               std::uint32_t bytes, std::uint32_t crc, std::uint64_t value) {
  if (channel.client().gone) return;
  channel.post(tag, static_cast<std::uint16_t>(status), flags, bytes, crc, value);
  if (!channel.dirty) {
    channel.dirty = true;
    dirty_.push_back(&channel);
  } else {
    channel.prepare();  // not the first of this turn, so not the last either, it seems
  }
  if (status != Status::ok) [[unlikely]]
    note_failure(channel, tag, status);
}

}  // namespace rde
