// Reads by io_uring; see read_queue.h.
#pragma once

#include <liburing.h>

#include <vector>

#include "storage/read_queue.h"

namespace rde {

class UringQueue final : public ReadQueue {
 public:
  // Errors: system_error; ENOSYS and EPERM say that the kernel, or the container, refuses io_uring.
  static Result<std::unique_ptr<UringQueue>> open(unsigned depth, int event_fd);
  ~UringQueue() override;
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  [[nodiscard]] unsigned depth() const override { return depth_; }
  void push(const FileRead& read) override;
  void flush() override;
  std::span<const FileReadEnd> reap(std::span<FileReadEnd> room) override;
  [[nodiscard]] bool arm() override;
  void add_memory(std::span<std::byte> memory) override;
  void remove_memory(std::span<std::byte> memory) override;

  // Pieces of memory that the kernel has taken in.
  [[nodiscard]] std::size_t registered() const { return pieces_.size(); }

 private:
  // A registered buffer is at most 1 GiB.
  struct Piece {
    std::span<std::byte> memory;
    unsigned slot = 0;
  };

  explicit UringQueue(unsigned depth) : depth_(depth) {}
  // -1: not registered.
  [[nodiscard]] int slot_of(std::span<std::byte> memory) const;
  bool update_slot(unsigned slot, std::span<std::byte> memory);

  const unsigned depth_;
  io_uring ring_{};
  bool is_open_ = false;
  bool unflushed_ = false;
  bool armed_ = false;
  std::vector<Piece> pieces_;         // by address
  std::vector<unsigned> free_slots_;  // of the kernel's table; none where it has no table
};

}  // namespace rde
