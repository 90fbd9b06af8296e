// What a shard does when there is nothing to do (docs/rings.md, "Sleeping").
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "shard/shard.h"

namespace rde {

void Shard::open_epoll() {
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  watch(task_event_.get(), true);
  for (const int descriptor : io_->event_descriptors()) watch(descriptor, false);
}

void Shard::watch(int descriptor, bool edge) {
  epoll_event event{};
  event.events = EPOLLIN | (edge ? static_cast<std::uint32_t>(EPOLLET) : 0U);
  event.data.fd = descriptor;
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void Shard::idle(unsigned quiet_turns) {
  switch (options_.mode) {
    case PollMode::spin:
      cpu_relax();
      return;
    case PollMode::adaptive: {
      // Where another poller waits for this processor, pausing only delays what we wait for.
      const unsigned pauses = options_.crowded ? 16 : kPauseTurns;
      if (quiet_turns < pauses) {
        cpu_relax();
      } else if (quiet_turns < kPauseTurns + kYieldTurns && (io_->busy() || quiet_turns < pauses + kYieldTurns)) {
        sched_yield();
      } else {
        sleep();
      }
      return;
    }
    case PollMode::event:
      sleep();
      return;
  }
}

void Shard::sleep() {
  if (!announce_sleep()) {
    wake_up(false);
    return;
  }
  const int timeout = sleep_milliseconds();
  bump(stats_.sleeps);
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
  now_ = now_ns();
  wake_up(count == 0 && timeout == static_cast<int>(kSleepCap / kMillisecond));
}

// False when there is news already.
bool Shard::announce_sleep() {
  for (EngineChannel* channel : hot_) store_relaxed(&channel->lines()->request_cold, std::uint32_t{1});
  for (ClientState* client : client_order_) client->sleeper().announce();
  full_fence();  // SYNC POINT cold, SYNC POINT doorbell: whoever publishes now sees a cold ring and an odd word
  const bool ringing = std::ranges::any_of(client_order_, [](ClientState* client) { return client->sleeper().any(); });
  const bool waiting = std::ranges::any_of(hot_, [](EngineChannel* channel) { return channel->has_request(); });
  return !ringing && !waiting && !has_tasks_.load(std::memory_order_acquire) && io_->arm();
}

void Shard::wake_up(bool by_cap) {
  bool late = false;
  for (ClientState* client : client_order_) {
    if (by_cap && client->sleeper().any()) {
      client->sleeper().count_late_wakeup();
      late = true;
    }
    client->sleeper().wake();
  }
  if (late) bump(stats_.late_wakeups);
  for (EngineChannel* channel : hot_) store_relaxed(&channel->lines()->request_cold, std::uint32_t{0});
  look_at_doorbells(client_order_.size());
}

int Shard::sleep_milliseconds() const {
  Nanoseconds until = now_ + kSleepCap;
  for (const Nanoseconds due : {deadlines_.next_due(), io_->next_timer(), draining_ ? drain_until_ : 0}) {
    if (due != 0) until = std::min(until, due);
  }
  return until <= now_ ? 0 : static_cast<int>((until - now_ + kMillisecond - 1) / kMillisecond);
}

}  // namespace rde
