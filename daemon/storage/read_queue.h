// Reads of files that run while the caller does something else: by io_uring, or where the kernel refuses
// that (containers), by a few threads.
//
//   auto queue = rde::open_read_queue({.depth = 64}, event_fd, warn);
//   (*queue)->push({fd, buffer, offset, token});
//   (*queue)->flush();
//   for (const auto& end : (*queue)->reap(room)) ...   // end.token, end.result
//
// One thread uses a queue. The buffer of a read is the kernel's until its end was reaped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.h"

namespace rde {

struct FileRead {
  int fd = -1;
  std::span<std::byte> to;  // at most 1 GiB
  std::uint64_t offset = 0;
  std::uint64_t token = 0;  // comes back with the end
};

struct FileReadEnd {
  std::uint64_t token = 0;
  std::int32_t result = 0;  // bytes, or -errno; fewer bytes than asked for are no error
};

class ReadQueue {
 public:
  virtual ~ReadQueue() = default;

  // Reads that may be under way at once.
  [[nodiscard]] virtual unsigned depth() const = 0;
  // The caller keeps at most depth() reads between push and reap.
  virtual void push(const FileRead& read) = 0;
  // Starts what was pushed. Short of kernel memory it starts less; call it again.
  virtual void flush() = 0;
  // The ends that have come, as many as fit `room`. Does not wait.
  virtual std::span<const FileReadEnd> reap(std::span<FileReadEnd> room) = 0;
  // For sleeping on the event descriptor: false when there is an end to reap, or flush() has more to start. From
  // arm() to the next reap() the descriptor tells of ends; at other times it may not.
  [[nodiscard]] virtual bool arm() = 0;
  // Tells of memory that reads will go to, so that the kernel keeps it at hand. Where that is refused, reads
  // into it work all the same. No read into it is under way when it is removed.
  virtual void add_memory(std::span<std::byte> memory) = 0;
  virtual void remove_memory(std::span<std::byte> memory) = 0;
};

struct ReadQueueOptions {
  unsigned depth = 128;  // 2 to 4096
  bool use_io_uring = true;
  unsigned threads = 4;  // where io_uring is not used; 1 to 64
};

// `event_fd`, an eventfd, is written to when ends have come after arm(). Errors: system_error.
Result<std::unique_ptr<ReadQueue>> open_read_queue(const ReadQueueOptions& options, int event_fd,
                                                   const std::function<void(std::string_view)>& warn);

}  // namespace rde
