// Jobs through a PeerHub, and what its progress() does.
#include <algorithm>
#include <limits>

#include "peer/peer_hub.h"

namespace rde {

void PeerHub::submit(Handle peer, ObjectJob& job, Memory& memory) {
  Entry* entry = find(peer);
  Status status = draining_ ? Status::draining : state(peer);
  if (status == Status::ok && job.destination.empty()) status = Status::length_zero;
  if (status == Status::ok && job.destination.size() > std::numeric_limits<std::uint32_t>::max()) {
    status = Status::transfer_too_large;
  }
  ReadTask& task = tasks_.reads.take();
  task.begin(job, memory, status == Status::ok ? entry->peer.get() : nullptr, sizes_for(entry));
  const bool is_small_read = job.kind == ObjectJob::Kind::read && !task.is_large();
  if (status == Status::ok && is_small_read) entry->small_until = now_ + options_.small_is_recent;
  admit(task, status);
}

void PeerHub::submit(Handle peer, RegionJob& job, Memory& memory) {
  Entry* entry = find(peer);
  const Status status = draining_ ? Status::draining : region_state(peer);
  RegionTask& task = tasks_.regions.take();
  task.begin(job, memory, status == Status::ok ? entry->peer.get() : nullptr, sizes_for(entry));
  admit(task, status);
}

SliceSizes PeerHub::sizes_for(const Entry* entry) const {
  if (entry == nullptr) return {.slice = options_.slice, .small_read = options_.small_read};
  const std::uint32_t wanted = now_ < entry->small_until ? options_.slice_beside_small : options_.slice;
  const std::uint32_t slice = std::min(wanted, entry->peer->max_length());
  return {.slice = slice, .small_read = std::min(options_.small_read, slice)};
}

void PeerHub::admit(PeerTask& task, Status status) {
  task.place = active_.size();
  active_.push_back(&task);
  if (status != Status::ok) {
    task.fail(status);
    return finish(task);
  }
  if (task.job().deadline != 0) schedule(task.job().deadline);
  task.peer()->submit(task);
}

void PeerHub::cancel(Job& job) {
  const auto it = std::ranges::find(active_, &job, [](const PeerTask* task) { return &task->job(); });
  if (it != active_.end()) (*it)->peer()->abandon(**it, Status::cancelled);
}

void PeerHub::finish(PeerTask& task) {
  active_.back()->place = task.place;
  active_[task.place] = active_.back();
  active_.pop_back();
  ended_.push_back(task);
}

unsigned PeerHub::tell_jobs() {
  unsigned count = 0;
  // Only those that have ended by now: on_done may submit more.
  for (std::size_t left = ended_.size(); left != 0; --left, ++count) {
    PeerTask& task = *ended_.pop_front();
    task.write_answer(counters_);
    Job& job = task.job();
    task.give_back(tasks_);
    job.on_done();
  }
  return count;
}

unsigned PeerHub::tell_openers() {
  if (notices_.empty()) return 0;
  const auto notices = std::exchange(notices_, {});
  for (const Notice& notice : notices) {
    if (notice.observer != nullptr) notice.observer->on_open(notice.peer, notice.status);
  }
  return static_cast<unsigned>(notices.size());
}

void PeerHub::run_timers() {
  timer_ = kNoTimer;
  for (Entry& entry : entries_) {
    if (entry.peer != nullptr) entry.peer->tick(now_);
  }
  responder_->tick(now_);
  bool any_ended = false;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    PeerTask& task = *active_[i];
    const Nanoseconds deadline = task.job().deadline;
    if (deadline == 0 || task.is_failing()) continue;
    if (now_ < deadline) {
      schedule(deadline);
    } else {
      task.peer()->abandon(task, Status::deadline_exceeded);
      any_ended = true;
    }
  }
  // A task that ends leaves its place to the last one, which this turn may have missed.
  if (any_ended) schedule(now_);
}

void PeerHub::reap_closed() {
  for (Entry& entry : entries_) {
    if (entry.peer != nullptr && entry.peer->state() == RemotePeer::State::closed) entry.peer.reset();
  }
}

unsigned PeerHub::progress(Nanoseconds now) {
  now_ = std::max(now_, now);
  unsigned events = transport_.progress(now_);
  events += responder_->progress();
  if (now_ >= timer_) {
    run_timers();
    ++events;
  }
  events += tell_jobs();
  events += tell_openers();
  if (events != 0) reap_closed();
  return events;
}

bool PeerHub::busy() const {
  return !active_.empty() || !ended_.empty() || !notices_.empty() || responder_->busy() || transport_.busy();
}

Nanoseconds PeerHub::next_timer() const { return std::min(timer_, transport_.next_timer()); }

void PeerHub::drain() {
  draining_ = true;
  responder_->drain();
}

void PeerHub::stop() {
  drain();
  for (Entry& entry : entries_) {
    if (entry.peer != nullptr) entry.peer->close();
  }
  responder_->close_all({Status::draining, "this engine is stopping"});
  reap_closed();
}

bool PeerHub::is_stopped() const {
  return responder_->is_closed() && active_.empty() && ended_.empty() &&
         std::ranges::all_of(entries_, [](const Entry& entry) { return entry.peer == nullptr; });
}

}  // namespace rde
