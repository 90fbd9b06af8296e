#include "client/channel.h"

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

void Channel::ring_engine() {
  if (engine_.ring(index_)) prim::ring_event(shard_event_);
}

Result<std::uint64_t> Channel::cancel(std::uint64_t tag) {
  rde_request request{};
  request.op = RDE_OP_CANCEL;
  const rde_cancel_args args{.tag = tag, .reserved = {}};
  __builtin_memcpy(request.args, &args, sizeof args);
  if (!publish(request, 0, 0)) return why_not();
  flush();
  return request.tag;
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
