// Buffers from a segment's arena: powers of two of pages, joined again when both halves are free.
//
//   ArenaAllocator arena(view.header().arena_size);
//   auto page = arena.allocate(1 << 20);        // 1 MiB
//   if (page) arena.release(*page);
//
// Private to the client: nothing of it lives in the segment. Any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "rde_layout.h"

namespace rde {

class ArenaAllocator {
 public:
  explicit ArenaAllocator(std::uint64_t arena_size);

  // First page of a free buffer of at least `length` bytes (0 counts as 1); nothing when no block is large enough.
  std::optional<std::uint32_t> allocate(std::uint64_t length);
  // A page that allocate() answered, once.
  void release(std::uint32_t page);
  // Bytes of the block that starts at an allocated page.
  [[nodiscard]] std::uint64_t block_size(std::uint32_t page) const;

  [[nodiscard]] std::uint64_t used_blocks() const;
  // Largest length that an empty arena can give.
  [[nodiscard]] std::uint64_t largest() const;

 private:
  static constexpr std::uint8_t kNone = 0xFF;

  void push(std::uint32_t page, std::uint8_t order);
  void remove(std::uint32_t page, std::uint8_t order);

  mutable std::mutex mutex_;
  std::uint32_t pages_;
  std::uint8_t orders_ = 0;
  std::uint64_t used_ = 0;
  // For each page: the order of the block that starts there, free or used; kNone inside a block.
  std::vector<std::uint8_t> free_order_;
  std::vector<std::uint8_t> used_order_;
  // Free blocks of each order as doubly linked lists of page numbers.
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
};

}  // namespace rde
