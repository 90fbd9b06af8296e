#include "load/connection.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace rde::tools {

Result<void> Connection::open() {
  auto client = Client::attach(options_);
  if (!client) return client.error();
  const std::lock_guard lock(mutex_);
  current_ = {std::move(*client), current_.number + 1};
  return {};
}

Connection::Lease Connection::lease() {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::optional<Connection::Lease> Connection::renew(const Lease& lost, const std::function<bool()>& give_up) {
  auto pause = std::chrono::milliseconds(10);
  while (!give_up()) {
    {
      const std::lock_guard lock(mutex_);
      if (current_.number != lost.number) return current_;
      if (auto client = Client::attach(options_)) {
        current_ = {std::move(*client), current_.number + 1};
        return current_;
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(1000));
  }
  return std::nullopt;
}

}  // namespace rde::tools
