// A shard's life: start, drain, end.
#include "shard/shard.h"

#include <pthread.h>
#include <sched.h>

namespace rde {

Shard::Shard(const ShardOptions& options, ShardIo::Factory make_io, Resolver& resolver)
    : options_(options),
      make_io_(std::move(make_io)),
      resolver_(resolver),
      sessions_(options.sessions ? options.sessions : std::make_shared<SessionTable>(SessionOptions{})),
      session_slab_(options.sessions ? options.index : 0),
      regions_(options.regions ? options.regions : std::make_shared<RegionTable>(now_ns())),
      local_regions_(*regions_),
      operations_(options.max_operations),
      deadlines_(now_ns()),
      region_expiries_(now_ns()) {}

Shard::~Shard() { stop(0); }

Result<void> Shard::start() {
  if (auto checked = queue_->check(); !checked) return checked.error().in("shard");
  std::promise<Result<void>> started;
  auto result = started.get_future();
  thread_ = std::thread([this, &started] { run(started); });
  return result.get();
}

void Shard::post(Task task) { queue_->post(std::move(task)); }

void Shard::stop(Nanoseconds bound) {
  if (!thread_.joinable()) return;
  post([bound](Shard& shard) { shard.begin_drain(bound); });
  thread_.join();
}

void Shard::run(std::promise<Result<void>>& started) {
  auto opened = open();
  const bool serves = static_cast<bool>(opened);
  started.set_value(std::move(opened));
  if (!serves) return;
  unsigned quiet = 0;
  while (!stopped_) {
    if (turn()) {
      quiet = 0;
    } else {
      idle(quiet);
      if (quiet <= kPauseTurns + kYieldTurns) ++quiet;
      if (options_.mode != PollMode::spin && quiet > kPauseTurns + kYieldTurns) quiet = kPauseTurns;
    }
  }
  close();
}

Result<void> Shard::open() {
  pthread_setname_np(pthread_self(), ("shard" + std::to_string(options_.index)).c_str());
  if (options_.cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(options_.cpu), &set);
    if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0)
      return system_error("--cores: pin a shard to processor " + std::to_string(options_.cpu), code);
  }
  auto io = make_io_();
  if (!io) return io.error();
  io_ = std::move(*io);
  now_ = now_ns();
  return open_epoll();
}

void Shard::begin_drain(Nanoseconds bound) {
  draining_ = true;
  now_ = now_ns();
  drain_cancels_ = now_ + bound / 4 * 3;
  drain_ends_ = now_ + bound;
  for (ClientState* client : client_order_)
    store_release(&client->view().engine_page()->state, std::uint32_t{RDE_ENGINE_STATE_DRAINING});
  io_->drain();
}

void Shard::continue_drain() {
  now_ = now_ns();
  if (!drain_cancelled_ && now_ >= drain_cancels_) {
    drain_cancelled_ = true;
    for (ClientState* client : client_order_) {
      for (auto& channel : client->channels())
        channel.for_each_operation([this](Operation& operation) { answer_early_st(operation, Status::draining); });
    }
  }
  stopped_ = (operations_.used() == 0 && !io_->busy()) || now_ >= drain_ends_;
}

void Shard::close() {
  if (!dirty_.empty()) flush_completions();
  // Other shards copy to and from these arenas, a step at a time, until the regions are quiet.
  wait_for_regions();
  // An arena that is quiet goes before what it is registered with. Where a transfer would not end in time, the source
  // must end it first, and lets go of the arena itself: a segment is never unmapped under a transfer.
  for (auto& [number, client] : clients_) {
    if (client->operations == 0) io_->remove_arena(client->view().arena(), {client->transport_memory});
  }
  io_.reset();
  dirty_.clear();
  clients_.clear();
}

}  // namespace rde
