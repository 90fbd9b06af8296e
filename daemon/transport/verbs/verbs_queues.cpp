#include "transport/verbs/verbs_queues.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "transport/verbs/verbs_device.h"

namespace rde {

Result<std::unique_ptr<VerbsQueues>> VerbsQueues::open(ibv_context* context) {
  std::unique_ptr<VerbsQueues> queues(new VerbsQueues(context));
  queues->channel_.reset(ibv_create_comp_channel(context));
  if (!queues->channel_) return verbs_error(Status::context_init_failed, "completion channel", errno);
  const int flags = ::fcntl(queues->channel_->fd, F_GETFL);
  if (flags < 0 || ::fcntl(queues->channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return system_error("completion channel", errno);
  }
  return queues;
}

Result<VerbsQueue*> VerbsQueues::join() {
  const auto it = std::ranges::find_if(queues_, [](const auto& queue) { return queue->links < kLinksPerQueue; });
  if (it != queues_.end()) {
    ++(*it)->links;
    return it->get();
  }
  auto queue = std::make_unique<VerbsQueue>();
  queue->queue.reset(ibv_create_cq(context_, kQueueDepth, nullptr, channel_.get(), 0));
  if (!queue->queue) {
    return verbs_error(Status::resource_exhausted, "completion queue of " + std::to_string(kQueueDepth) + " entries",
                       errno);
  }
  queue->links = 1;
  return queues_.emplace_back(std::move(queue)).get();
}

bool VerbsQueues::arm() {
  for (auto& queue : queues_) {
    if (queue->links != 0) ibv_req_notify_cq(queue->queue.get(), 0);
  }
  // What completed before the request makes no event.
  for (auto& queue : queues_) {
    if (queue->links == 0 || stashed_ != 0) continue;
    stashed_ = std::max(0, ibv_poll_cq(queue->queue.get(), kBatch, stash_.data()));
  }
  return stashed_ == 0;
}

void VerbsQueues::acknowledge() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ibv_ack_cq_events(queue, 1);
}

}  // namespace rde
