#include "load/producer.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

namespace rde::tools {
namespace {

constexpr Nanoseconds kLook = 10 * kMillisecond;
constexpr Nanoseconds kMargin = kSecond;  // the engine answers a deadline itself; this much later it is not going to
constexpr std::uint32_t kMostTold = 5;

}  // namespace

Producer::Producer(const LoadOptions& options, Connection& connection, const StopSign& stop, std::uint32_t index)
    : options_(options),
      connection_(connection),
      stop_(stop),
      index_(index),
      jobs_(options.depth),
      random_(std::uint64_t{options.worker} << 32 | (index + 1)),
      next_object_(options.objects.empty() ? 0 : random_() % options.objects.size()) {
  if (options.rate > 0) interval_ = static_cast<double>(kSecond) * options.producers / options.rate;
}

void Producer::run(Nanoseconds start) {
  use(connection_.lease());
  end_ = start + options_.duration;
  give_up_ = end_ + options_.drain;
  now_ = now_ns();
  // Producers of an open loop take turns.
  next_start_ = static_cast<double>(start) + interval_ * index_ / options_.producers;
  while (turn()) {
  }
  if (interval_ > 0 && next_start_ < static_cast<double>(std::min(now_, end_))) {
    tally_.not_sent =
        static_cast<std::uint64_t>((static_cast<double>(std::min(now_, end_)) - next_start_) / interval_) + 1;
  }
  publish_progress();
}

// False when there is nothing left to do.
bool Producer::turn() {
  const bool reaped = reap_all();
  if (channel_->broken()) return lose_engine("engine_broken");
  const bool started = fill_places();
  if (!trouble_.empty()) return false;
  const bool idle = idle_.size() == jobs_.size();
  if (ending() && idle) return false;
  if (stop_.level() > 1 || now_ > give_up_) {
    for (auto& job : jobs_) {
      if (job.running()) job.fail("no_answer");
    }
    for (std::uint32_t i = 0; i < jobs_.size(); ++i) settle(i);
    timed_out_ = true;
    return false;
  }
  if (now_ - looked_ > kLook) {
    looked_ = now_;
    publish_progress();
    look_for_lost_answers();
    if (lease_.client->engine_gone() && !channel_->ready()) return lose_engine("engine_gone");
  }
  if (!reaped && !started) wait();
  return true;
}

bool Producer::reap_all() {
  std::size_t count = 0;
  while (count < batch_.size() && channel_->reap(batch_[count])) ++count;
  // One look at the clock for all of them, after the last: none is told to have come earlier than it did.
  now_ = now_ns();
  for (std::size_t i = 0; i < count; ++i) on_reaped(batch_[i]);
  return count > 0;
}

void Producer::on_reaped(const Reaped& reaped) {
  auto& ticket = tickets_[reaped.user];
  const std::uint32_t index = ticket.job;
  if (reaped.ends && index != kNobody) {
    ticket.job = kNobody;
    const auto bytes = ticket.buffer ? std::span<const std::byte>(ticket.buffer->bytes) : std::span<const std::byte>();
    jobs_[index].on_completion(reaped, bytes, now_);
  }
  if (reaped.returns_buffer) {
    if (ticket.buffer) lease_.client->release(*ticket.buffer);
    ticket.buffer.reset();
    ticket.next_free = free_ticket_;
    free_ticket_ = static_cast<std::uint32_t>(reaped.user);
  }
  if (reaped.ends && index != kNobody) {
    settle(index);
    if (jobs_[index].running()) starved_.push_back(index);
  }
}

// Counts a job that has ended, and frees its place.
void Producer::settle(std::uint32_t index) {
  auto& job = jobs_[index];
  if (!job.ended()) return;
  auto& op = tally_.ops[index_of(job.op())];
  tally_.bytes += job.op() == Op::read ? job.received() : 0;
  if (job.good()) {
    op.latency.record(job.latency());
    if (job.op() == Op::read) {
      tally_.bytes_verified += job.received();
      ++tally_.objects_verified;
    }
  } else {
    ++op.failed;
    ++tally_.errors[job.failure()];
    if (job.wrong()) {
      ++tally_.wrong;
      if (told_++ < kMostTold) std::fprintf(stderr, "ring-load: wrong: %s\n", job.detail().c_str());
    }
  }
  job.clear();
  idle_.push_back(index);
}

// Sends what can be sent; true when something was.
bool Producer::fill_places() {
  bool sent = false;
  while (!starved_.empty() && send(starved_.back())) {
    starved_.pop_back();
    sent = true;
  }
  while (starved_.empty() && !idle_.empty() && !ending()) {
    if (interval_ > 0 && next_start_ > static_cast<double>(now_)) break;
    const std::uint32_t index = idle_.back();
    idle_.pop_back();
    if (start_job(index)) {
      sent = true;
    } else {
      starved_.push_back(index);
    }
  }
  if (sent) channel_->flush();
  if (!sent && !starved_.empty() && channel_->outstanding() == 0 && channel_->quarantined() == 0) {
    trouble_ = "no buffer of " + std::to_string(jobs_[starved_.back()].wanted(options_.piece)) +
               " bytes is free in the segment; give a larger --segment-size, or a smaller --piece or --depth";
  }
  return sent;
}

bool Producer::start_job(std::uint32_t index) {
  const Op op = options_.mix.pick(random_());
  const LoadObject* object = nullptr;
  if (op == Op::stat || op == Op::read) object = &options_.objects[next_object_++ % options_.objects.size()];
  Nanoseconds intended = now_;
  if (interval_ > 0) {
    // The wait for a free place counts as well: users of an engine do not wait politely for each other.
    intended = static_cast<Nanoseconds>(next_start_);
    next_start_ += interval_;
  }
  jobs_[index].start(op, object, intended);
  return send(index);
}

// Publishes the next request of a job; false when there is no buffer or no credit for it now.
bool Producer::send(std::uint32_t index) {
  if (free_ticket_ == kNobody) return false;
  Job& job = jobs_[index];
  const std::uint32_t length = job.wanted(options_.piece);
  std::optional<Buffer> buffer;
  if (length != 0) {
    buffer = lease_.client->allocate(length);
    if (!buffer) return false;
  }
  auto request = job.next_request(buffer.value_or(Buffer{}), length);
  request.deadline_ns = now_ + options_.timeout;
  const std::uint32_t number = free_ticket_;
  if (!channel_->stage(request, number)) {
    if (buffer) lease_.client->release(*buffer);
    return false;
  }
  auto& ticket = tickets_[number];
  free_ticket_ = ticket.next_free;
  ticket = {.job = index, .buffer = buffer, .next_free = kNobody, .given_up = request.deadline_ns + kMargin};
  ++tally_.requests;
  return true;
}

void Producer::wait() {
  const bool has_place = interval_ > 0 && !idle_.empty() && starved_.empty() && !ending();
  const auto due = static_cast<Nanoseconds>(std::max(next_start_, 0.0));
  Nanoseconds until = now_ + kLook;
  if (has_place) until = std::min(until, due);
  if (options_.spin) {
    cpu_relax();
  } else if (channel_->outstanding() == 0 && channel_->quarantined() == 0) {
    if (until > now_) {
      const timespec time{static_cast<time_t>(until / kSecond), static_cast<long>(until % kSecond)};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
    }
  } else if (until < now_ + 2 * kMillisecond) {
    // Sleeping is measured in milliseconds; a start that is nearer than that would come late.
    sched_yield();
  } else {
    (void)lease_.client->wait(*channel_, until - kMillisecond);
  }
}

// Gives up requests that even the engine's own deadline did not end.
void Producer::look_for_lost_answers() {
  for (auto& ticket : tickets_) {
    if (ticket.job == kNobody || now_ < ticket.given_up) continue;
    const bool faulted = load_acquire(&channel_->lines()->state) == RDE_CHANNEL_STATE_FAULTED;
    jobs_[ticket.job].fail(faulted ? std::string(name_of(Status::ring_broken)) : "no_answer");
    settle(ticket.job);
    ticket.job = kNobody;
  }
}

// The engine is gone: fails what it had, and goes on with the next one where that is wanted.
bool Producer::lose_engine(const char* status) {
  ++tally_.engine_gone;
  Reaped reaped;
  while (channel_->fail_next(Status::engine_gone, reaped)) {
    const auto& ticket = tickets_[reaped.user];
    if (ticket.job == kNobody) continue;
    jobs_[ticket.job].fail(status);
    settle(ticket.job);
  }
  for (const std::uint32_t index : starved_) {
    jobs_[index].fail(status);
    settle(index);
  }
  starved_.clear();
  publish_progress();
  if (!options_.reattach) {
    trouble_ = std::string("lost the engine (") + status + "); --reattach goes on with the next one";
    return false;
  }
  auto next = connection_.renew(lease_, [this] {
    now_ = now_ns();
    return ending();
  });
  if (!next) return false;
  ++tally_.reattached;
  use(std::move(*next));
  return true;
}

void Producer::use(Connection::Lease lease) {
  lease_ = std::move(lease);
  channel_ = &lease_.client->channel(index_);
  // As many as the ring can have outstanding and quarantined together.
  tickets_.assign(std::size_t{channel_->depth()} * RDE_COMPLETIONS_PER_REQUEST, {});
  free_ticket_ = kNobody;
  for (std::uint32_t i = 0; i < tickets_.size(); ++i) {
    tickets_[i].next_free = free_ticket_;
    free_ticket_ = i;
  }
  idle_.clear();
  for (std::uint32_t i = 0; i < jobs_.size(); ++i) idle_.push_back(i);
}

void Producer::publish_progress() {
  progress_.done.store(tally_.done(), std::memory_order_relaxed);
  progress_.failed.store(tally_.failed(), std::memory_order_relaxed);
  progress_.bytes.store(tally_.bytes_verified, std::memory_order_relaxed);
}

}  // namespace rde::tools
