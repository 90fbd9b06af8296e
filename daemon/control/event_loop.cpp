#include "control/event_loop.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

namespace rde {

Result<EventLoop> EventLoop::make() {
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return system_error("epoll_create1", errno);
  return EventLoop(std::move(epoll));
}

Result<void> EventLoop::add(int descriptor, Handler handler) {
  const std::uint32_t generation = ++generation_;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(descriptor);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return system_error("epoll_ctl", errno);
  watches_[descriptor] = {generation, std::make_shared<const Handler>(std::move(handler))};
  return {};
}

void EventLoop::remove(int descriptor) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  watches_.erase(descriptor);
}

void EventLoop::run_once(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t data = events[static_cast<std::size_t>(i)].data.u64;
    const auto found = watches_.find(static_cast<int>(static_cast<std::uint32_t>(data)));
    // An earlier handler may have removed it; its number may even be another's already.
    if (found == watches_.end() || found->second.generation != data >> 32) continue;
    const auto handler = found->second.handler;  // held: it may remove itself
    (*handler)();
  }
}

}  // namespace rde
