// What a shard does when there is nothing to do (docs/rings.md, "Sleeping").
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "shard/shard.h"

namespace rde {

Result<void> Shard::open_epoll() {
  epoll_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return system_error("epoll_create1", errno);
  if (auto watched = watch(queue_->event(), true); !watched) return watched;
  for (const int descriptor : io_->event_descriptors()) {
    if (auto watched = watch(descriptor, false); !watched) return watched;
  }
  return {};
}

Result<void> Shard::watch(int descriptor, bool edge) {
  epoll_event event{};
  event.events = EPOLLIN | (edge ? static_cast<std::uint32_t>(EPOLLET) : 0U);
  event.data.fd = descriptor;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return system_error("epoll_ctl", errno);
  return {};
}

void Shard::idle(unsigned quiet_turns) {
  switch (options_.mode) {
    case PollMode::spin:
      if (quiet_turns >= kTightTurns) cpu_relax();
      return;
    case PollMode::adaptive: {
      // Where another poller waits for this processor, pausing only delays what we wait for.
      const unsigned pauses = options_.crowded ? 16 : kPauseTurns;
      if (quiet_turns < pauses) {
        if (quiet_turns >= kTightTurns) cpu_relax();
      } else if (quiet_turns < kPauseTurns + kYieldTurns && (io_->busy() || quiet_turns < pauses + kYieldTurns)) {
        sched_yield();
        io_due_ = true;  // others have run meanwhile, and a yield is longer than many turns
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
  io_due_ = true;  // whatever ends the sleep, the transport may be the reason
  if (!announce_sleep()) return wake_up(false, false);
  std::array<epoll_event, 64> events;
  const auto wait = [&](int milliseconds) {
    return epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds) != 0;
  };
  bump(stats_.sleeps);
  const bool woken = wait(sleep_milliseconds());
  // Nobody woke us and yet there is work: either its writer is between setting the bit and waking us, or a wake-up is
  // lost.
  const bool late = !woken && has_news() && !wait(static_cast<int>(kRingGrace / kMillisecond));
  now_ = now_ns();
  wake_up(true, late);
}

// False when there is news already.
bool Shard::announce_sleep() {
  for_each_hot([](EngineChannel& channel) { store_relaxed(&channel.lines()->request_cold, std::uint32_t{1}); });
  for (ClientState* client : client_order_) client->sleeper().announce();
  full_fence();  // SYNC POINT cold, SYNC POINT doorbell: whoever publishes now sees a cold ring and an odd word
  return !has_news() && !queue_->any() && io_->arm();
}

bool Shard::has_news() const {
  if (std::ranges::any_of(client_order_, [](ClientState* client) { return client->sleeper().any(); })) return true;
  for (ClientState* client : hot_clients_) {
    const auto waiting =
        std::ranges::find_if(client->hot, [](EngineChannel* channel) { return channel->has_request(); });
    if (waiting == client->hot.end()) continue;
    client->next = static_cast<std::size_t>(waiting - client->hot.begin());  // polled first
    return true;
  }
  return false;
}

void Shard::wake_up(bool slept, bool late) {
  for (ClientState* client : client_order_) {
    if (slept) client->sleeper().count_sleep();
    if (late && client->sleeper().any()) client->sleeper().count_late_wakeup();
    client->sleeper().wake();
  }
  if (late) bump(stats_.late_wakeups);
  for_each_hot([](EngineChannel& channel) { store_relaxed(&channel.lines()->request_cold, std::uint32_t{0}); });
  look_at_doorbells(client_order_.size());
}

int Shard::sleep_milliseconds() const {
  Nanoseconds until = now_ + kSleepCap;
  const Nanoseconds drain = !draining_ ? 0 : drain_cancelled_ ? drain_ends_ : drain_cancels_;
  for (const Nanoseconds due : {deadlines_.next_due(until), io_->next_timer(), drain}) {
    if (due != 0) until = std::min(until, due);
  }
  return until <= now_ ? 0 : static_cast<int>((until - now_ + kMillisecond - 1) / kMillisecond);
}

}  // namespace rde
