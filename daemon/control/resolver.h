// Looks names up on a thread of its own, since that may take seconds.
//
//   resolver.resolve({"storage-7", 18515}, [&](Result<SocketAddress> where) { shard.post(…); });
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/host_port.h"

namespace rde {

class Resolver {
 public:
  using Answer = std::function<void(Result<SocketAddress>)>;

  Resolver() : thread_([this] { run(); }) {}
  ~Resolver() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // `answer` runs on the resolver's thread. Any thread.
  void resolve(HostPort where, Answer answer) {
    {
      const std::lock_guard lock(mutex_);
      questions_.emplace_back(std::move(where), std::move(answer));
    }
    changed_.notify_one();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || !questions_.empty(); });
      if (stopped_) return;
      auto [where, answer] = std::move(questions_.front());
      questions_.erase(questions_.begin());
      lock.unlock();
      answer(rde::resolve(where));
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<HostPort, Answer>> questions_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace rde
