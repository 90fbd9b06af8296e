// One round of a shard over everything that may have news.
#include <algorithm>

#include "ops/ops.h"
#include "prim/socket.h"
#include "shard/shard.h"

namespace rde {

// True when something was done. While only requests come in the shard makes no system call of its own, and reads the
// clock (which is none either) once in kIoSteps.
bool Shard::turn() {
  bool worked = false;
  if (queue_->any()) {
    run_tasks();
    worked = true;
  }
  worked |= poll_clients();
  // Where no ring is polled there is nothing that a look at the transport could slow down.
  if (--io_steps_ <= 0 || io_due_ || hot_clients_.empty()) worked |= run_io();
  // Bits of channels that are polled anyway can wait; those of the others, a moment.
  if (hot_channels_ != live_channels_ && (--doorbell_steps_ <= 0 || hot_channels_ == 0)) {
    doorbell_steps_ = kDoorbellSteps;
    worked |= look_at_doorbells(kDoorbellsPerTurn);
  }
  if (!revokes_.empty()) worked |= end_revokes();
  if (!dirty_.empty()) flush_completions();
  if (!gone_.empty()) worked |= free_gone_clients();
  if (draining_) continue_drain();
  return worked;
}

void Shard::run_tasks() {
  queue_->take(running_tasks_);
  now_ = now_ns();
  io_due_ = true;  // a task may give it work
  for (auto& task : running_tasks_) task(*this);
  running_tasks_.clear();
}

bool Shard::run_io() {
  now_ = now_ns();
  bool worked = io_->progress(now_) != 0;
  worked |= local_regions_.progress(now_) != 0;
  worked |= sessions_->expire(session_slab_, now_);
  deadlines_.advance(now_, [this](Timer& timer) {
    bump(stats_.deadlines);
    answer_early_st(*static_cast<Operation::DeadlineTimer&>(timer).operation, Status::deadline_exceeded);
  });
  region_expiries_.advance(now_, [this](Timer& timer) { expire_region(static_cast<ExposedRegion&>(timer)); });
  if (now_ >= counters_due_) publish_counters();
  // Work comes to it by submit() alone, which asks for the next look, or from its peers, which progress() tells.
  io_due_ = io_->busy() || local_regions_.busy();
  if (worked || io_due_) {
    io_quiet_looks_ = 0;
  } else {
    io_quiet_looks_ = std::min(io_quiet_looks_ + 1, kIoQuietLooks);
  }
  io_steps_ = io_quiet_looks_ < kIoQuietLooks ? kIoStepsAfterNews : kIoSteps;
  return worked;
}

bool Shard::poll_clients() {
  bool worked = false;
  for (std::size_t i = 0; i < hot_clients_.size();) {
    ClientState& client = *hot_clients_[i];
    worked |= poll_client(client);
    if (client.hot.empty()) {
      client.listed = false;
      hot_clients_[i] = hot_clients_.back();
      hot_clients_.pop_back();
    } else {
      ++i;
    }
  }
  return worked;
}

bool Shard::poll_client(ClientState& client) {
  bool worked = false;
  client.budget = kRequestsPerClient;
  for (std::size_t polls = std::min(client.hot.size(), kPollsPerClient); polls != 0 && client.budget > 0; --polls) {
    if (client.next >= client.hot.size()) client.next = 0;
    EngineChannel& channel = *client.hot[client.next];
    if (poll_channel(channel) != 0) {
      channel.empty_polls = 0;
      worked = true;
    } else if ((channel.faulted || (++channel.empty_polls >= kColdAfterPolls && hot_channels_ > 1)) &&
               make_cold(channel)) {
      client.hot[client.next] = client.hot.back();
      client.hot.pop_back();
      continue;
    }
    ++client.next;
  }
  return worked;
}

unsigned Shard::poll_channel(EngineChannel& channel) {
  ClientState& client = channel.client();
  unsigned taken = 0;
  rde_request request;
  while (taken < kRequestsPerChannel && client.budget > 0 && !channel.faulted && channel.take(request)) {
    channel.prefetch();
    ++taken;
    client.charge(1);
    handle(channel, request);
  }
  if (taken != 0) {
    io_steps_ -= static_cast<int>(taken);
    doorbell_steps_ -= static_cast<int>(taken);
    client.counts.requests += taken;
    bump(stats_.requests, taken);
  }
  return taken;
}

void Shard::handle(EngineChannel& channel, const rde_request& request) {
  // A request that no client of this ABI could have written, or one beyond its credits, breaks the ring
  // (docs/rings.md).
  if (request.reserved != 0) return fault_st(channel, Status::reserved_not_zero);
  if (channel.in_flight >= channel.depth() ||
      2 * (channel.in_flight + 1) + channel.quarantined > channel.depth() * RDE_COMPLETIONS_PER_REQUEST) {
    return fault_st(channel, Status::ring_broken);
  }
  run_operation(*this, channel, request);
}

// False where a request came at the last moment. The caller takes the channel out of the list.
bool Shard::make_cold(EngineChannel& channel) {
  // SYNC POINT cold: the client publishes, fences, and loads `request_cold`; we store it, fence, and look again.
  store_relaxed(&channel.lines()->request_cold, std::uint32_t{1});
  full_fence();
  channel.empty_polls = 0;
  if (!channel.faulted && channel.has_request()) {
    store_relaxed(&channel.lines()->request_cold, std::uint32_t{0});
    return false;
  }
  channel.hot = false;
  --hot_channels_;
  return true;
}

void Shard::heat(EngineChannel& channel) {
  ClientState& client = channel.client();
  channel.hot = true;
  channel.empty_polls = 0;
  store_relaxed(&channel.lines()->request_cold, std::uint32_t{0});
  client.hot.push_back(&channel);
  ++hot_channels_;
  if (client.listed) return;
  client.listed = true;
  hot_clients_.push_back(&client);
}

// A bit of a hot or faulted channel is taken, but is no work: a client could set it for ever.
bool Shard::look_at_doorbells(std::size_t clients) {
  bool worked = false;
  clients = std::min(clients, client_order_.size());
  for (std::size_t i = 0; i < clients; ++i) {
    if (next_client_ >= client_order_.size()) next_client_ = 0;
    ClientState& client = *client_order_[next_client_++];
    client.sleeper().take([&](std::uint32_t index) {
      if (index >= client.channels().size()) return;
      EngineChannel& channel = client.channels()[index];
      if (channel.hot || channel.faulted) return;
      heat(channel);
      worked = true;
    });
  }
  return worked;
}

void Shard::flush_completions() {
  full_fence();  // SYNC POINT cold: the client makes its ring cold, fences, and looks at it once more
  for (EngineChannel* channel : dirty_) {
    channel->dirty = false;
    ClientState& client = channel->client();
    const std::uint64_t posted = channel->publish_cursors();
    client.counts.completions += posted;
    bump(stats_.completions, posted);
    if (load_relaxed(&channel->lines()->completion_cold) != 0 && client.ringer().ring(channel->index())) {
      prim::send_wake(client.wake_descriptor());
      ++client.counts.wakeups;
      bump(stats_.wakeups_sent);
    }
  }
  dirty_.clear();
}

void Shard::publish_counters() {
  counters_due_ = now_ + kCountersEvery;
  for (ClientState* client : client_order_) {
    const auto& counts = client->counts;
    // In the order of kCounters.
    const std::uint64_t values[] = {counts.requests,    counts.completions,       counts.failures,
                                    counts.bytes,       counts.violations,        counts.wakeups,
                                    client->operations, client->quarantined_bytes};
    const auto counters = client->view().counters();
    for (std::size_t i = 0; i < std::size(values) && i < counters.size(); ++i)
      store_relaxed(&counters[i].value, values[i]);
    store_relaxed(&client->view().engine_page()->heartbeat_ns, now_);
  }
  stats_.operations.store(operations_.used(), std::memory_order_relaxed);
}

}  // namespace rde
