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
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = descriptor;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return system_error("epoll_ctl", errno);
  handlers_[descriptor] = std::move(handler);
  return {};
}

void EventLoop::remove(int descriptor) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  handlers_.erase(descriptor);
}

void EventLoop::run_once(int timeout_ms) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const auto found = handlers_.find(events[static_cast<std::size_t>(i)].data.fd);
    if (found == handlers_.end()) continue;  // an earlier handler removed it
    const Handler handler = found->second;   // a copy: it may remove itself
    handler();
  }
}

}  // namespace rde
