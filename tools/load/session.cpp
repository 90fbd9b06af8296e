#include "load/session.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "load/producer.h"

namespace rde::tools {
namespace {

AttachOptions attach_options(const LoadOptions& options) {
  return {.socket = options.socket,
          .name = "ring-load",
          .segment_size = segment_size_for(options),
          .channels = options.producers,
          .depth = ring_depth_for(options.depth)};
}

// Lets the calling thread wait for all producers, and wake once a second meanwhile.
class Finish {
 public:
  explicit Finish(std::size_t running) : running_(running) {}
  void one() {
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t running_;
};

ProgressCount count_of(const std::vector<std::unique_ptr<Producer>>& producers) {
  ProgressCount count;
  for (const auto& producer : producers) {
    count.done += producer->progress().done.load(std::memory_order_relaxed);
    count.failed += producer->progress().failed.load(std::memory_order_relaxed);
    count.bytes += producer->progress().bytes.load(std::memory_order_relaxed);
  }
  return count;
}

}  // namespace

Session::Session(const LoadOptions& options, const StopSign& stop)
    : options_(options), stop_(stop), connection_(attach_options(options)) {}

Result<void> Session::open() { return connection_.open(); }

SessionResult Session::run(const std::function<void(const ProgressCount&)>& progress) {
  std::vector<std::unique_ptr<Producer>> producers;
  for (std::uint32_t i = 0; i < options_.producers; ++i) {
    producers.push_back(std::make_unique<Producer>(options_, connection_, stop_, i));
  }
  Finish finish(producers.size());
  const Nanoseconds start = now_ns();
  {
    std::vector<std::jthread> threads;
    for (auto& producer : producers) {
      threads.emplace_back([&, worker = producer.get()] {
        worker->run(start);
        finish.one();
      });
    }
    while (!finish.wait_for(std::chrono::seconds(1))) progress(count_of(producers));
  }
  SessionResult result;
  result.seconds = static_cast<double>(now_ns() - start) / static_cast<double>(kSecond);
  for (const auto& producer : producers) {
    result.tally.merge(producer->tally());
    result.timed_out |= producer->timed_out();
    const auto& trouble = producer->trouble();
    if (!trouble.empty() && std::ranges::find(result.troubles, trouble) == result.troubles.end()) {
      result.troubles.push_back(trouble);
    }
  }
  return result;
}

}  // namespace rde::tools
