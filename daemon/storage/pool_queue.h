// Reads by a few threads, where io_uring is refused; see read_queue.h.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/read_queue.h"

namespace rde {

class PoolQueue final : public ReadQueue {
 public:
  PoolQueue(unsigned depth, unsigned threads, int event_fd);
  // Waits for the reads that have begun; those that have not are dropped.
  ~PoolQueue() override;
  PoolQueue(const PoolQueue&) = delete;
  PoolQueue& operator=(const PoolQueue&) = delete;

  [[nodiscard]] unsigned depth() const override { return depth_; }
  void push(const FileRead& read) override;
  void flush() override;
  std::span<const FileReadEnd> reap(std::span<FileReadEnd> room) override;
  [[nodiscard]] bool arm() override;
  void add_memory(std::span<std::byte>) override {}
  void remove_memory(std::span<std::byte>) override {}

 private:
  // A ring of at most `depth` things; never allocates after it was made.
  template <class T>
  struct Fifo {
    explicit Fifo(unsigned depth) : slots(depth) {}
    void push(const T& value) { slots[(first + count++) % slots.size()] = value; }
    T pop() {
      const T value = slots[first];
      first = (first + 1) % slots.size();
      --count;
      return value;
    }
    std::vector<T> slots;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  void serve();

  const unsigned depth_;
  const int event_fd_;
  std::vector<FileRead> pushed_;  // since the last flush

  std::mutex mutex_;  // guards the rest
  std::condition_variable work_;
  Fifo<FileRead> reads_;
  Fifo<FileReadEnd> ends_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace rde
