// The control thread's epoll: a descriptor and what to do when it is readable.
//
//   loop.add(fd, [&] { … });
//   loop.run_once(1000);
//
// One thread. A handler may add and remove any descriptor, its own too. A descriptor is removed before it is closed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "base/descriptor.h"
#include "base/status.h"

namespace rde {

class EventLoop {
 public:
  using Handler = std::function<void()>;

  static Result<EventLoop> make();
  Result<void> add(int descriptor, Handler handler);
  void remove(int descriptor);
  // Waits for at most `timeout_ms`, and calls the handlers of what is readable.
  void run_once(int timeout_ms);

 private:
  explicit EventLoop(Descriptor epoll) : epoll_(std::move(epoll)) {}

  struct Watch {
    std::uint32_t generation = 0;
    std::shared_ptr<const Handler> handler;
  };

  Descriptor epoll_;
  std::uint32_t generation_ = 0;
  std::unordered_map<int, Watch> watches_;
};

}  // namespace rde
