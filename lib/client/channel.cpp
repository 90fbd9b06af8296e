#include "client/channel.h"

#include "base/handle.h"
#include "prim/socket.h"

namespace rde {

Channel::Channel(const SegmentView& view, std::uint32_t index, int shard_event)
    : requests_(view.requests(index), view.header().depth),
      completions_(view.completions(index), view.header().completion_depth),
      lines_(view.channel(index)),
      engine_(view.shard_doorbell(load_relaxed(&lines_->shard) % view.header().shard_count)),
      shard_event_(shard_event),
      index_(index),
      depth_(view.header().depth),
      completion_depth_(view.header().completion_depth),
      reserved_(depth_ >= 8 ? RDE_RESERVED_CREDITS : 0),
      entries_(completion_depth_) {
  for (std::uint32_t i = 0; i < completion_depth_; ++i) entries_[i].next_free = i + 1;
}

bool Channel::has_credit(std::uint32_t reserved) const {
  const std::uint32_t used = outstanding_ + reserved;
  return used < depth_ && 2 * (used + 1) + quarantined_ <= completion_depth_ && first_free_ < completion_depth_;
}

Error Channel::why_not() const {
  const std::string name = "channel " + std::to_string(index_);
  if (broken_) return {Status::engine_broken, name + ": the engine broke a rule of the ring, or is gone; attach again"};
  if (faulted()) {
    const auto why = Status{static_cast<std::uint16_t>(load_relaxed(&lines_->fault_status))};
    return {Status::ring_broken, name + ": the engine faulted it (" + std::string(name_of(why)) + "); attach again"};
  }
  return {Status::ring_full, name + ": " + std::to_string(outstanding_) + " of " + std::to_string(depth_) +
                                 " requests are outstanding, " + std::to_string(quarantined_) +
                                 " buffers quarantined; reap completions first"};
}

Result<std::uint64_t> Channel::publish(rde_request& request, std::uint64_t user, std::uint32_t reserved) {
  if (broken_ || faulted() || !has_credit(reserved)) return why_not();
  const std::uint32_t index = first_free_;
  auto& entry = entries_[index];
  first_free_ = entry.next_free;
  if (++entry.generation == 0) ++entry.generation;
  entry.user = user;
  entry.length = request.length;
  entry.state = EntryState::outstanding;
  ++outstanding_;
  request.tag = Handle{index, entry.generation}.value();
  requests_.write(request);
  return request.tag;
}

Result<std::uint64_t> Channel::stage(rde_request request, std::uint64_t user) {
  return publish(request, user, reserved_);
}

Result<std::uint64_t> Channel::submit(rde_request request, std::uint64_t user) {
  auto tag = publish(request, user, reserved_);
  if (tag) flush();
  return tag;
}

void Channel::flush() {
  store_relaxed(&lines_->requests_posted, requests_.position());
  full_fence();  // SYNC POINT cold: the engine makes the ring cold, fences, and looks at it once more
  if (load_relaxed(&lines_->request_cold) != 0 && engine_.ring(index_)) prim::ring_event(shard_event_);
}

Result<std::uint64_t> Channel::cancel(std::uint64_t tag) {
  rde_request request{};
  request.op = RDE_OP_CANCEL;
  const rde_cancel_args args{.tag = tag, .reserved = {}};
  __builtin_memcpy(request.args, &args, sizeof args);
  auto sent = publish(request, 0, 0);
  if (sent) flush();
  return sent;
}

bool Channel::reap(Reaped& reaped) {
  rde_completion completion;
  if (broken_ || !completions_.read(completion)) return false;
  if (!accept(completion, reaped)) {
    broken_ = true;
    return false;
  }
  return true;
}

bool Channel::accept(const rde_completion& completion, Reaped& reaped) {
  const auto tag = Handle::from(completion.tag);
  if (tag.index >= entries_.size()) return false;
  auto& entry = entries_[tag.index];
  if (entry.generation != tag.generation || completion.bytes > entry.length) return false;
  const bool more = (completion.flags & RDE_COMPLETION_FLAG_MORE) != 0;
  const bool buffer_free = (completion.flags & RDE_COMPLETION_FLAG_BUFFER_FREE) != 0;
  const auto wanted = buffer_free ? EntryState::quarantined : EntryState::outstanding;
  if (entry.state != wanted || (more && buffer_free)) return false;

  reaped = {.tag = completion.tag,
            .user = entry.user,
            .status = Status{completion.status},
            .flags = completion.flags,
            .bytes = completion.bytes,
            .crc = completion.crc,
            .value = completion.value,
            .ends = !buffer_free,
            .returns_buffer = !more};
  if (buffer_free) {
    --quarantined_;
  } else {
    --outstanding_;
  }
  if (more) {
    ++quarantined_;
    entry.state = EntryState::quarantined;
  } else {
    free_entry(tag.index);
  }
  store_relaxed(&lines_->completions_reaped, completions_.position());
  return true;
}

void Channel::free_entry(std::uint32_t index) {
  entries_[index].state = EntryState::free;
  entries_[index].next_free = first_free_;
  first_free_ = index;
}

bool Channel::fail_next(Status status, Reaped& reaped) {
  broken_ = true;
  for (; fail_at_ < entries_.size(); ++fail_at_) {
    auto& entry = entries_[fail_at_];
    if (entry.state == EntryState::free) continue;
    const bool outstanding = entry.state == EntryState::outstanding;
    reaped = {.tag = Handle{fail_at_, entry.generation}.value(),
              .user = entry.user,
              .status = status,
              .ends = outstanding,
              .returns_buffer = true};
    outstanding ? --outstanding_ : --quarantined_;
    entry.state = EntryState::free;
    return true;
  }
  return false;
}

}  // namespace rde
