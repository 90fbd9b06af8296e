#include "shard/shard.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

#include "ops/ops.h"
#include "prim/socket.h"

namespace rde {

Shard::Shard(const ShardOptions& options, ShardIo::Factory make_io, Resolver& resolver)
    : options_(options),
      make_io_(std::move(make_io)),
      resolver_(resolver),
      operations_(options.max_operations),
      deadlines_(now_ns()) {}

Shard::~Shard() {
  if (thread_.joinable()) stop(0);
}

Result<void> Shard::start() {
  auto event = prim::make_event();
  if (!event) return event.error();
  task_event_ = std::move(*event);
  std::promise<Result<void>> started;
  auto result = started.get_future();
  thread_ = std::thread([this, &started] { run(started); });
  return result.get();
}

void Shard::post(Task task) {
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks_.push_back(std::move(task));
    has_tasks_.store(true, std::memory_order_release);
  }
  prim::ring_event(task_event_.get());
}

void Shard::stop(Nanoseconds bound) {
  if (!thread_.joinable()) return;
  post([bound](Shard& shard) {
    shard.draining_ = true;
    shard.drain_until_ = now_ns() + bound;
    if (shard.io_) shard.io_->drain();
  });
  thread_.join();
}

void Shard::run(std::promise<Result<void>>& started) {
  pthread_setname_np(pthread_self(), ("shard" + std::to_string(options_.index)).c_str());
  if (options_.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(options_.cpu), &set);
    if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0) {
      started.set_value(system_error("--cores: pin shard to processor " + std::to_string(options_.cpu), code));
      return;
    }
  }
  auto io = make_io_();
  if (!io) {
    started.set_value(io.error());
    return;
  }
  io_ = std::move(*io);
  open_epoll();
  started.set_value({});
  unsigned quiet = 0;
  while (!stopped_) {
    if (turn()) {
      quiet = 0;
    } else {
      idle(quiet++);
      if (options_.mode != PollMode::spin && quiet > kPauseTurns + kYieldTurns) quiet = kPauseTurns;
    }
  }
  // No transfer is under way any more; what is left of the clients goes before what their arenas are registered with.
  for (auto& [number, client] : clients_) io_->remove_arena(client->view().arena(), {client->transport_memory});
  clients_.clear();
  io_.reset();
}

// One round over everything; true when something was done.
bool Shard::turn() {
  ++turns_;
  // The clock is read once a turn at most, and only every few turns while nothing but requests comes in.
  if ((turns_ & (kIoEveryTurns - 1)) == 0) now_ = now_ns();
  bool worked = has_tasks_.load(std::memory_order_acquire) && run_tasks();
  worked |= poll_channels();
  if (io_->busy() || (turns_ & (kIoEveryTurns - 1)) == 0) {
    now_ = now_ns();
    worked |= io_->progress(now_) != 0;
    expire_deadlines();
  }
  worked |= look_at_doorbells(kDoorbellsPerTurn);
  if (!dirty_.empty()) flush_completions();
  if (now_ >= counters_due_) publish_counters();
  if (!gone_.empty()) free_gone_clients();
  if (draining_ && (all_quiet() || now_ns() >= drain_until_)) stopped_ = true;
  return worked;
}

bool Shard::run_tasks() {
  {
    const std::lock_guard lock(tasks_mutex_);
    running_tasks_.swap(tasks_);
    has_tasks_.store(false, std::memory_order_relaxed);
  }
  now_ = now_ns();
  for (auto& task : running_tasks_) task(*this);
  running_tasks_.clear();
  return true;
}

bool Shard::poll_channels() {
  bool worked = false;
  for (std::size_t i = 0; i < hot_.size();) {
    EngineChannel& channel = *hot_[i];
    if (poll_channel(channel) != 0) {
      channel.empty_turns = 0;
      worked = true;
    } else if (channel.faulted || (++channel.empty_turns >= kColdAfterTurns && hot_.size() > 1)) {
      // SYNC POINT cold: the client publishes, fences, and loads `request_cold`; we store it, fence, and look again.
      store_relaxed(&channel.lines()->request_cold, std::uint32_t{1});
      full_fence();
      if (channel.faulted || !channel.has_request()) {
        channel.hot = false;
        hot_[i] = hot_.back();
        hot_.pop_back();
        continue;
      }
      store_relaxed(&channel.lines()->request_cold, std::uint32_t{0});
      channel.empty_turns = 0;
    }
    ++i;
  }
  return worked;
}

unsigned Shard::poll_channel(EngineChannel& channel) {
  unsigned taken = 0;
  rde_request request;
  while (taken < kRequestsPerTurn && !channel.faulted && channel.take(request)) {
    channel.prefetch();
    ++taken;
    handle(channel, request);
  }
  return taken;
}

void Shard::handle(EngineChannel& channel, const rde_request& request) {
  bump(stats_.requests);
  ++channel.client().counts.requests;
  // A request that no client of this ABI could have written, or one beyond its credits, breaks the ring
  // (docs/rings.md).
  if (request.reserved != 0) return fault_st(channel, Status::reserved_not_zero);
  if (channel.in_flight >= channel.depth() ||
      2 * (channel.in_flight + 1) + channel.quarantined > channel.depth() * RDE_COMPLETIONS_PER_REQUEST) {
    return fault_st(channel, Status::ring_broken);
  }
  run_operation(*this, channel, request);
}

bool Shard::look_at_doorbells(std::size_t clients) {
  bool worked = false;
  clients = std::min(clients, client_order_.size());
  for (std::size_t i = 0; i < clients; ++i) {
    if (next_client_ >= client_order_.size()) next_client_ = 0;
    ClientState& client = *client_order_[next_client_++];
    worked |= client.sleeper().take([&](std::uint32_t index) {
      if (index < client.channels().size()) heat(client.channels()[index]);
    }) != 0;
  }
  return worked;
}

void Shard::heat(EngineChannel& channel) {
  if (channel.hot || channel.faulted || channel.client().gone) return;
  channel.hot = true;
  channel.empty_turns = 0;
  store_relaxed(&channel.lines()->request_cold, std::uint32_t{0});
  hot_.push_back(&channel);
}

void Shard::flush_completions() {
  full_fence();  // SYNC POINT cold: the client makes its ring cold, fences, and looks at it once more
  for (EngineChannel* channel : dirty_) {
    channel->dirty = false;
    channel->publish_cursors();
    ClientState& client = channel->client();
    if (load_relaxed(&channel->lines()->completion_cold) != 0 && client.ringer().ring(channel->index())) {
      prim::send_wake(client.wake_descriptor());
      ++client.counts.wakeups;
      bump(stats_.wakeups_sent);
    }
  }
  dirty_.clear();
}

void Shard::expire_deadlines() {
  deadlines_.advance(now_, [this](Timer& timer) {
    auto& operation = *static_cast<Operation::DeadlineTimer&>(timer).operation;
    bump(stats_.deadlines);
    answer_early_st(operation, Status::deadline_exceeded);
  });
}

bool Shard::all_quiet() const { return operations_.used() == 0 && !io_->busy(); }

void Shard::publish_counters() {
  counters_due_ = now_ + kCountersEvery;
  for (ClientState* client : client_order_) {
    const auto& counts = client->counts;
    const std::uint64_t values[] = {counts.requests,    counts.completions,       counts.failures,
                                    counts.bytes,       counts.violations,        counts.wakeups,
                                    client->operations, client->quarantined_bytes};
    const auto counters = client->view().counters();
    for (std::size_t i = 0; i < std::size(values) && i < counters.size(); ++i)
      store_relaxed(&counters[i].value, values[i]);
    store_relaxed(&client->view().engine_page()->heartbeat_ns, now_);
  }
  bump(stats_.operations, operations_.used() - stats_.operations.load(std::memory_order_relaxed));
}

}  // namespace rde
