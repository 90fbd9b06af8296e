// The completion queues that the links of one device share, and their channel. Each has room for everything that its
// links can have under way, so that it never overflows.
//
//   VerbsQueue& queue = *queues.join();   // for one more link
//   queues.poll([](const ibv_wc& completion) { … });
//   queues.leave(queue);
//
// Sleeping: arm() asks for an event on the channel; acknowledge() takes what came. Owner thread only.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "base/status.h"
#include "transport/verbs/verbs_handles.h"
#include "transport/verbs/verbs_limits.h"

namespace rde {

struct VerbsQueue {
  OwnedCompletionQueue queue;
  std::uint32_t links = 0;
};

class VerbsQueues {
 public:
  static Result<std::unique_ptr<VerbsQueues>> open(ibv_context* context);

  [[nodiscard]] ibv_context* context() const { return context_; }
  [[nodiscard]] int event_descriptor() const { return channel_->fd; }

  Result<VerbsQueue*> join();
  // Its queue pair is destroyed already. Completions that are left carry the link's serial, which is never used again.
  void leave(VerbsQueue& queue) { --queue.links; }

  // Calls `handle` for every completion, also after one that is an error; answers how many.
  template <class Handle>
  unsigned poll(Handle handle) {
    unsigned count = 0;
    for (int i = 0; i < stashed_; ++i) handle(stash_[static_cast<std::size_t>(i)]), ++count;
    stashed_ = 0;
    for (auto& queue : queues_) {
      if (queue->links == 0) continue;
      std::array<ibv_wc, kBatch> batch;
      int taken = 0;
      do {
        taken = ibv_poll_cq(queue->queue.get(), kBatch, batch.data());
        for (int i = 0; i < taken; ++i) handle(batch[static_cast<std::size_t>(i)]), ++count;
      } while (taken == kBatch && count < kMostAtOnce);
    }
    return count;
  }

  // False: something has completed meanwhile; poll() has it.
  bool arm();
  void acknowledge();

 private:
  static constexpr unsigned kMostAtOnce = 512;

  explicit VerbsQueues(ibv_context* context) : context_(context) {}

  ibv_context* context_;
  OwnedCompletionChannel channel_;
  std::vector<std::unique_ptr<VerbsQueue>> queues_;
  std::array<ibv_wc, kBatch> stash_{};
  int stashed_ = 0;
};

}  // namespace rde
