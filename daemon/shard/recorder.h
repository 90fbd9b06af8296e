// Writes the flight recorder of a segment: the last events, for ring-dump. Owner thread only.
//
//   Recorder recorder(view);
//   recorder.note(now, RDE_EVENT_REQUEST, channel, tag, op);
#pragma once

#include <cstdint>

#include "base/atomic.h"
#include "base/clock.h"
#include "segment/view.h"

namespace rde {

class Recorder {
 public:
  explicit Recorder(const SegmentView& view) : head_(view.recorder()), events_(view.events()) {}

  void note(Nanoseconds now, std::uint32_t type, std::uint32_t channel, std::uint64_t a, std::uint64_t b) {
    auto& event = events_[next_ & (events_.size() - 1)];
    // Not whole while it is being written: a reader that sees a word of the new event also sees that the sequence went.
    store_relaxed(&event.sequence, std::uint64_t{0});
    store_release(&event.time_ns, now);
    store_release(&event.type, type);
    store_release(&event.channel, channel);
    store_release(&event.a, a);
    store_release(&event.b, b);
    store_release(&event.sequence, ++next_);
    store_release(&head_->next, next_);
  }

 private:
  rde_recorder_head* head_;
  std::span<rde_recorder_event> events_;
  std::uint64_t next_ = 0;
};

}  // namespace rde
