#include "storage/pool_queue.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace rde {

PoolQueue::PoolQueue(unsigned depth, unsigned threads, int event_fd)
    : depth_(depth), event_fd_(event_fd), reads_(depth), ends_(depth) {
  pushed_.reserve(depth);
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

PoolQueue::~PoolQueue() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void PoolQueue::push(const FileRead& read) { pushed_.push_back(read); }

void PoolQueue::flush() {
  if (pushed_.empty()) return;
  {
    const std::lock_guard guard(mutex_);
    for (const auto& read : pushed_) reads_.push(read);
  }
  for (std::size_t i = 0; i < std::min(pushed_.size(), threads_.size()); ++i) work_.notify_one();
  pushed_.clear();
}

std::span<const FileReadEnd> PoolQueue::reap(std::span<FileReadEnd> room) {
  const std::lock_guard guard(mutex_);
  std::size_t count = 0;
  while (count < room.size() && ends_.count != 0) room[count++] = ends_.pop();
  return room.first(count);
}

bool PoolQueue::arm() {
  const std::lock_guard guard(mutex_);
  return ends_.count == 0 && pushed_.empty();
}

void PoolQueue::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return stopping_ || reads_.count != 0; });
    if (stopping_) return;
    const FileRead read = reads_.pop();
    lock.unlock();
    const ssize_t got = pread(read.fd, read.to.data(), read.to.size(), static_cast<off_t>(read.offset));
    const auto result = static_cast<std::int32_t>(got < 0 ? -errno : got);
    lock.lock();
    ends_.push({read.token, result});
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(event_fd_, &one, sizeof one);  // full: then it is readable anyway
  }
}

}  // namespace rde
