// When to ask whether the other side still lives, and when to give it up. Time is given, none is taken.
//
//   Heartbeat heartbeat(interval, timeout, now);
//   heartbeat.heard(now);                                      // any message or delivery
//   if (heartbeat.tick(now) == Heartbeat::Beat::ping) …        // at heartbeat.due() or later
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace rde {

class Heartbeat {
 public:
  enum class Beat : std::uint8_t { none, ping, dead };

  Heartbeat() = default;
  Heartbeat(Nanoseconds interval, Nanoseconds timeout, Nanoseconds now)
      : interval_(interval), timeout_(timeout), last_heard_(now), last_tick_(now), next_ping_(now + interval) {}

  void heard(Nanoseconds now) { last_heard_ = now; }

  Beat tick(Nanoseconds now) {
    // Where we ourselves stood still (stopped, suspended), the silence was ours.
    if (now - last_tick_ > 2 * interval_) last_heard_ = now;
    last_tick_ = now;
    if (now - last_heard_ >= timeout_) return Beat::dead;
    if (now < next_ping_) return Beat::none;
    next_ping_ = now + interval_;
    return Beat::ping;
  }

  // At least every interval, so that a standstill of ours is told from one of theirs.
  [[nodiscard]] Nanoseconds due() const { return next_ping_; }
  [[nodiscard]] bool is_quiet(Nanoseconds now) const { return now - last_heard_ > 2 * interval_ + interval_ / 2; }

 private:
  Nanoseconds interval_ = 0;
  Nanoseconds timeout_ = 0;
  Nanoseconds last_heard_ = 0;
  Nanoseconds last_tick_ = 0;
  Nanoseconds next_ping_ = 0;
};

}  // namespace rde
