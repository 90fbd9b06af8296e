// Deadlines of the operations of one shard: a hashed wheel of intrusive lists, one slot a millisecond.
//
//   wheel.add(timer, now + 5 * kMillisecond);
//   wheel.advance(now, [](Timer& timer) { … });       // those that are due, each once
//   wheel.remove(timer);                              // before it is due
//
// Owner thread only. Adding and removing cost the same however many timers there are; nothing is allocated.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace rde {

struct Timer {
  Timer* next = nullptr;  // null while not in a wheel
  Timer* previous = nullptr;
  Nanoseconds due = 0;
};

class TimerWheel {
 public:
  explicit TimerWheel(Nanoseconds now) : tick_(now / kTick) {
    for (auto& slot : slots_) slot.next = slot.previous = &slot;
  }
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  void add(Timer& timer, Nanoseconds due) {
    timer.due = due;
    // A timer that is already due goes into the slot that is looked at next.
    const Nanoseconds tick = due / kTick + 1 > tick_ ? due / kTick + 1 : tick_ + 1;
    Timer& slot = slots_[tick % kSlots];
    timer.next = &slot;
    timer.previous = slot.previous;
    slot.previous->next = &timer;
    slot.previous = &timer;
    ++count_;
  }

  void remove(Timer& timer) {
    if (timer.next == nullptr) return;
    timer.previous->next = timer.next;
    timer.next->previous = timer.previous;
    timer.next = timer.previous = nullptr;
    --count_;
  }

  // Calls fire(timer) for each due timer, removed before. `fire` may add and remove timers.
  template <class Fire>
  void advance(Nanoseconds now, Fire fire) {
    const Nanoseconds target = now / kTick;
    if (count_ == 0 || target > tick_ + kSlots) tick_ = count_ == 0 ? target : target - kSlots;
    while (tick_ < target) {
      ++tick_;
      run_slot(slots_[tick_ % kSlots], now, fire);
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  // When advance() should be called next, at the latest; 0 when no timer needs it before `until`.
  [[nodiscard]] Nanoseconds next_due(Nanoseconds until) const {
    const Nanoseconds end = until / kTick + 1;
    if (count_ == 0 || end <= tick_) return 0;
    const Nanoseconds last = std::min(end - tick_, kSlots);
    for (Nanoseconds ahead = 1; ahead <= last; ++ahead) {
      const Timer& slot = slots_[(tick_ + ahead) % kSlots];
      if (slot.next != &slot) return (tick_ + ahead) * kTick;
    }
    return 0;
  }

 private:
  static constexpr Nanoseconds kTick = kMillisecond;
  static constexpr Nanoseconds kSlots = 4096;

  template <class Fire>
  void run_slot(Timer& slot, Nanoseconds now, Fire fire) {
    // Timers of a later round stay. The due ones are moved out first: `fire` may add to this very slot.
    Timer due;
    due.next = due.previous = &due;
    for (Timer* timer = slot.next; timer != &slot;) {
      Timer* next = timer->next;
      if (timer->due <= now) {
        timer->previous->next = timer->next;
        timer->next->previous = timer->previous;
        timer->next = &due;
        timer->previous = due.previous;
        due.previous->next = timer;
        due.previous = timer;
      }
      timer = next;
    }
    while (due.next != &due) {
      Timer* timer = due.next;
      remove(*timer);
      fire(*timer);
    }
  }

  std::array<Timer, kSlots> slots_;
  Nanoseconds tick_;
  std::size_t count_ = 0;
};

}  // namespace rde
