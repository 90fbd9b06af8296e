#include "storage/read_queue.h"

#include <algorithm>
#include <string>

#include "storage/pool_queue.h"
#include "storage/uring_queue.h"

namespace rde {

Result<std::unique_ptr<ReadQueue>> open_read_queue(const ReadQueueOptions& options, int event_fd,
                                                   const std::function<void(std::string_view)>& warn) {
  const unsigned depth = std::clamp(options.depth, 2U, 4096U);
  const unsigned threads = std::clamp(options.threads, 1U, 64U);
  if (options.use_io_uring) {
    auto queue = UringQueue::open(depth, event_fd);
    if (queue) return std::unique_ptr<ReadQueue>(std::move(*queue));
    warn(queue.error().text + "; reading volumes with " + std::to_string(threads) +
         " threads instead, which is slower (allow io_uring in the container's seccomp profile and in "
         "kernel.io_uring_disabled)");
  }
  return std::unique_ptr<ReadQueue>(std::make_unique<PoolQueue>(depth, threads, event_fd));
}

}  // namespace rde
