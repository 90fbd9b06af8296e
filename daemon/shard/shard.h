// A polling core: takes requests from its clients' rings, drives storage and peers, writes completions.
//
//   Shard shard(options, …);
//   auto started = shard.start();
//   shard.post([&](Shard& s) { s.add_client(std::move(client)); });   // from any thread
//   shard.stop();
//
// Everything that ends in `_st` is for the shard's own thread; so is all state behind it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "control/resolver.h"
#include "shard/client_state.h"
#include "shard/operation.h"
#include "shard/shard_io.h"
#include "shard/shard_options.h"
#include "shard/timer_wheel.h"

namespace rde {

class Shard {
 public:
  using Task = std::function<void(Shard&)>;

  Shard(const ShardOptions& options, ShardIo::Factory make_io, Resolver& resolver);
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  // Starts the thread and opens its transport and storage there; answers how that went.
  Result<void> start();
  // Runs on the shard's thread soon; wakes it. Any thread. Order is kept.
  void post(Task task);
  // Refuses new requests, lets the running ones end for at most `bound`, closes peers, ends the thread.
  void stop(Nanoseconds bound);

  [[nodiscard]] const ShardStats& stats() const { return stats_; }
  [[nodiscard]] const ShardOptions& options() const { return options_; }

  // Clients. `when_gone` runs on this thread once the last operation has ended and the segment is free.
  void add_client_st(NewClient client);
  void remove_client_st(std::uint64_t number, std::function<void()> when_gone);

  // For operations.
  ShardIo& io_st() { return *io_; }
  [[nodiscard]] Nanoseconds now_st() const { return now_; }
  [[nodiscard]] bool draining_st() const { return draining_; }
  // Ends a request at once, or the first half of it.
  void complete_st(EngineChannel& channel, std::uint64_t tag, Status status, std::uint16_t flags = 0,
                   std::uint32_t bytes = 0, std::uint32_t crc = 0, std::uint64_t value = 0);
  // Keeps a request for later; null (and the request is answered) where that is not possible.
  Operation* begin_st(EngineChannel& channel, const rde_request& request);
  // Ends a kept operation: its only or its last completion.
  void end_st(Operation& operation, Status status, std::uint16_t flags, std::uint32_t bytes, std::uint32_t crc,
              std::uint64_t value);
  // Answers the client before the source is done with the buffer.
  void answer_early_st(Operation& operation, Status status);
  // Looks a name up on another thread; `answer` runs on this one, later.
  void resolve_st(const HostPort& where, std::function<void(const Result<SocketAddress>&)> answer);
  ShardStats& stats_st() { return stats_; }
  // The client broke the ring: nothing more is taken from this channel.
  void fault_st(EngineChannel& channel, Status status);

 private:
  void run(std::promise<Result<void>>& started);
  bool turn();
  bool run_tasks();
  bool poll_channels();
  unsigned poll_channel(EngineChannel& channel);
  void handle(EngineChannel& channel, const rde_request& request);
  bool look_at_doorbells(std::size_t clients);
  void heat(EngineChannel& channel);
  void flush_completions();
  void expire_deadlines();
  void idle(unsigned quiet_turns);
  void sleep();
  bool announce_sleep();
  void wake_up(bool by_cap);
  int sleep_milliseconds() const;
  bool all_quiet() const;
  void free_gone_clients();
  void publish_counters();
  void open_epoll();
  void watch(int descriptor, bool edge);

  ShardOptions options_;
  ShardIo::Factory make_io_;
  Resolver& resolver_;
  std::unique_ptr<ShardIo> io_;
  std::thread thread_;
  Descriptor epoll_;
  Descriptor task_event_;

  std::mutex tasks_mutex_;
  std::vector<Task> tasks_;
  std::vector<Task> running_tasks_;
  std::atomic<bool> has_tasks_{false};

  Nanoseconds now_ = 0;
  Nanoseconds drain_until_ = 0;
  Nanoseconds counters_due_ = 0;
  bool draining_ = false;
  bool stopped_ = false;
  unsigned turns_ = 0;

  std::unordered_map<std::uint64_t, std::unique_ptr<ClientState>> clients_;
  std::vector<ClientState*> client_order_;  // for the sweep over doorbells
  std::size_t next_client_ = 0;
  std::vector<EngineChannel*> hot_;
  std::vector<EngineChannel*> dirty_;
  std::unordered_map<std::uint64_t, std::function<void()>> gone_;
  OperationPool operations_;
  TimerWheel deadlines_;
  ShardStats stats_;
};

}  // namespace rde
