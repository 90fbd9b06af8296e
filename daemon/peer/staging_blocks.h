// The memory that answers lie in between storage and link, cut into blocks of two sizes, so that small
// answers never wait for the large ones' blocks. Owner thread only.
//
//   StagingBlocks staging(memory, 64 << 10, 1 << 20);
//   auto block = staging.take(4096);      // nothing left: try again when one was given back
//   staging.give_back(*block);
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"

namespace rde {

class StagingBlocks {
 public:
  struct Block {
    std::byte* data = nullptr;
    bool is_large = false;
  };

  // A quarter of the memory (at least one block) is for small answers. invalid_request, naming the least, where
  // it has no room for one block of each size.
  static Result<StagingBlocks> cut(std::span<std::byte> memory, std::uint32_t small, std::uint32_t large) {
    StagingBlocks staging(small, large);
    const std::size_t for_small = std::max<std::size_t>(small, memory.size() / 4 / small * small);
    if (memory.size() < for_small + large) {
      return Error{Status::invalid_request, "staging memory is " + std::to_string(memory.size()) + " bytes, give it " +
                                                std::to_string(std::size_t{small} + large) + " at least"};
    }
    for (std::size_t at = 0; at + small <= for_small; at += small) staging.small_blocks_.push_back(memory.data() + at);
    for (std::size_t at = for_small; at + large <= memory.size(); at += large) {
      staging.large_blocks_.push_back(memory.data() + at);
    }
    staging.small_total_ = staging.small_blocks_.size();
    staging.large_total_ = staging.large_blocks_.size();
    return staging;
  }

  // `size` is at most large_size().
  std::optional<Block> take(std::uint32_t size) {
    const bool is_large = size > small_;
    auto& blocks = is_large ? large_blocks_ : small_blocks_;
    if (blocks.empty()) return std::nullopt;
    Block block{blocks.back(), is_large};
    blocks.pop_back();
    return block;
  }
  void give_back(const Block& block) { (block.is_large ? large_blocks_ : small_blocks_).push_back(block.data); }

  [[nodiscard]] bool is_large(std::uint32_t size) const { return size > small_; }
  [[nodiscard]] std::uint32_t large_size() const { return large_; }
  [[nodiscard]] std::size_t small_total() const { return small_total_; }
  [[nodiscard]] std::size_t large_total() const { return large_total_; }
  [[nodiscard]] std::size_t in_use() const {
    return small_total_ - small_blocks_.size() + large_total_ - large_blocks_.size();
  }

 private:
  StagingBlocks(std::uint32_t small, std::uint32_t large) : small_(small), large_(large) {}

  std::uint32_t small_;
  std::uint32_t large_;
  std::size_t small_total_ = 0;
  std::size_t large_total_ = 0;
  std::vector<std::byte*> small_blocks_;
  std::vector<std::byte*> large_blocks_;
};

}  // namespace rde
