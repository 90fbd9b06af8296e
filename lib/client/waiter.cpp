#include "client/waiter.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "prim/socket.h"

namespace rde {
namespace {

// The safety net of docs/rings.md: no wake-up is ever lost, and if one were, this bounds the harm.
constexpr Nanoseconds kCap = 100 * kMillisecond;
constexpr Nanoseconds kGrace = 50 * kMillisecond;  // for an engine that was held up between writing and ringing

int milliseconds_left(Nanoseconds deadline) {
  const Nanoseconds now = now_ns();
  if (deadline <= now) return 0;
  return static_cast<int>(
      std::min<Nanoseconds>((deadline - now + kMillisecond - 1) / kMillisecond, kCap / kMillisecond));
}

}  // namespace

Waiter::Waiter(const SegmentView& view, int wake, int attach_socket)
    : sleeper_(view.client_doorbell(), view.header().channel_count), wake_(wake), attach_socket_(attach_socket) {}

bool Waiter::engine_gone() {
  pollfd entry{attach_socket_, POLLIN | POLLRDHUP, 0};
  if (poll(&entry, 1, 0) > 0) {
    const std::lock_guard lock(mutex_);
    gone_ = true;
  }
  const std::lock_guard lock(mutex_);
  return gone_;
}

Waiter::Outcome Waiter::wait(Channel& channel, Nanoseconds deadline) {
  auto* cold = &channel.lines()->completion_cold;
  store_seq_cst(cold, std::uint32_t{1});
  full_fence();  // SYNC POINT cold: pairs with the fence that the engine makes after it published completions
  std::unique_lock lock(mutex_);
  while (!channel.ready() && !gone_ && !channel.faulted() && now_ns() < deadline) {
    if (!leading_) {
      lead(lock, channel, deadline);
      continue;
    }
    const std::uint64_t round = rounds_;
    const auto left = std::chrono::milliseconds(milliseconds_left(deadline));
    changed_.wait_for(lock, left, [&] { return rounds_ != round; });
  }
  const bool gone = gone_;
  lock.unlock();
  store_relaxed(cold, std::uint32_t{0});
  if (channel.ready()) return Outcome::ready;
  if (gone) return Outcome::engine_gone;
  return channel.faulted() ? Outcome::channel_faulted : Outcome::timed_out;
}

// After a block that ended by its time: whether there is work that nobody rang for.
bool Waiter::lost_wakeup() {
  for (const Nanoseconds start = now_ns(); sleeper_.any() && !sleeper_.rung();) {
    if (now_ns() - start > kGrace) return true;
    const timespec pause{0, static_cast<long>(kMillisecond)};
    nanosleep(&pause, nullptr);
  }
  return false;
}

void Waiter::lead(std::unique_lock<std::mutex>& lock, Channel& channel, Nanoseconds deadline) {
  leading_ = true;
  sleeper_.announce();
  if (!sleeper_.any() && !channel.ready()) {
    sleeper_.count_sleep();
    lock.unlock();
    std::array entries{pollfd{wake_, POLLIN, 0}, pollfd{attach_socket_, POLLIN | POLLRDHUP, 0}};
    const int timeout = milliseconds_left(deadline);
    const int count = poll(entries.data(), entries.size(), timeout);
    const bool late = count == 0 && timeout > 0 && lost_wakeup();
    lock.lock();
    if (late) sleeper_.count_late_wakeup();
    if (count > 0 && entries[0].revents != 0 && !prim::drain_wake(wake_)) gone_ = true;
    if (count > 0 && entries[1].revents != 0) gone_ = true;
  }
  sleeper_.wake();
  sleeper_.take([](std::uint32_t) {});
  leading_ = false;
  // Whoever waits looks at its own ring again; one of them leads next.
  ++rounds_;
  changed_.notify_all();
}

}  // namespace rde
