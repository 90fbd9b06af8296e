// Work that other threads hand to a shard. Shared, because whoever hands some over late (a name that took long to look
// up) may outlive the shard: such work is then never run.
//
//   auto queue = std::make_shared<TaskQueue>();
//   queue->post([](Shard& shard) { … });          // any thread; wakes the shard
//   if (queue->any()) queue->take(tasks);          // the shard's thread
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "prim/socket.h"

namespace rde {

class Shard;

class TaskQueue {
 public:
  using Task = std::function<void(Shard&)>;

  TaskQueue() : event_(prim::make_event()) {}

  // Errors: system_error, when no descriptor was left at construction.
  [[nodiscard]] Result<void> check() const { return event_ ? Result<void>{} : event_.error(); }

  void post(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
      any_.store(true, std::memory_order_seq_cst);
    }
    if (event_) prim::ring_event(event_->get());
  }

  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  // Swaps what waits, in order, with the empty `tasks`.
  void take(std::vector<Task>& tasks) {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
    any_.store(false, std::memory_order_relaxed);
  }
  // For the shard's epoll, edge-triggered, never read.
  [[nodiscard]] int event() const { return event_->get(); }

 private:
  Result<Descriptor> event_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  std::atomic<bool> any_{false};
};

}  // namespace rde
