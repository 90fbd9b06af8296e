// Writes the flight recorder of a segment: the last events, for ring-dump. Owner thread only.
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/clock.h"
#include "segment/view.h"

namespace rde {

class Recorder {
 public:
  explicit Recorder(const SegmentView& view) : head_(view.recorder()), events_(view.events()) {}

  void note(std::uint32_t type, std::uint32_t channel, std::uint64_t a, std::uint64_t b) {
    auto& event = events_[next_ & (events_.size() - 1)];
    store_relaxed(&event.sequence, std::uint64_t{0});  // not whole while it is being written
    store_release(&event.time_ns, now_ns());
    store_relaxed(&event.type, type);
    store_relaxed(&event.channel, channel);
    store_relaxed(&event.a, a);
    store_relaxed(&event.b, b);
    store_release(&event.sequence, ++next_);
    store_release(&head_->next, next_);
  }

 private:
  rde_recorder_head* head_;
  std::span<rde_recorder_event> events_;
  std::uint64_t next_ = 0;
};

}  // namespace rde
