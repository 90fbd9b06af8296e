#include "client/arena.h"

#include <bit>

namespace rde {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFF;

}  // namespace

ArenaAllocator::ArenaAllocator(std::uint64_t arena_size)
    : pages_(static_cast<std::uint32_t>(arena_size / RDE_ARENA_PAGE)),
      orders_(static_cast<std::uint8_t>(std::bit_width(pages_))),
      free_order_(pages_, kNone),
      used_order_(pages_, kNone),
      heads_(orders_, kEnd),
      next_(pages_, kEnd),
      previous_(pages_, kEnd) {
  std::uint32_t page = 0;
  while (page < pages_) {
    const int aligned = page == 0 ? orders_ - 1 : std::countr_zero(page);
    const int fitting = std::bit_width(pages_ - page) - 1;
    const auto order = static_cast<std::uint8_t>(aligned < fitting ? aligned : fitting);
    push(page, order);
    page += 1U << order;
  }
}

std::optional<std::uint32_t> ArenaAllocator::allocate(std::uint64_t length) {
  const std::uint64_t wanted = length == 0 ? 1 : (length - 1) / RDE_ARENA_PAGE + 1;
  if (wanted > pages_) return std::nullopt;
  const auto order = static_cast<std::uint8_t>(std::bit_width(wanted - 1));
  const std::lock_guard lock(mutex_);
  std::uint8_t found = order;
  while (found < orders_ && heads_[found] == kEnd) ++found;
  if (found >= orders_) return std::nullopt;
  const std::uint32_t page = heads_[found];
  remove(page, found);
  while (found > order) {
    --found;
    push(page + (1U << found), found);
  }
  used_order_[page] = order;
  ++used_;
  return page;
}

void ArenaAllocator::release(std::uint32_t page) {
  const std::lock_guard lock(mutex_);
  if (page >= pages_ || used_order_[page] == kNone) return;
  std::uint8_t order = used_order_[page];
  used_order_[page] = kNone;
  --used_;
  while (order + 1 < orders_) {
    const std::uint32_t other = page ^ (1U << order);
    if (other >= pages_ || free_order_[other] != order) break;
    remove(other, order);
    page &= ~(1U << order);
    ++order;
  }
  push(page, order);
}

std::uint64_t ArenaAllocator::block_size(std::uint32_t page) const {
  const std::lock_guard lock(mutex_);
  if (page >= pages_ || used_order_[page] == kNone) return 0;
  return std::uint64_t{RDE_ARENA_PAGE} << used_order_[page];
}

std::uint64_t ArenaAllocator::used_blocks() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::uint64_t ArenaAllocator::largest() const {
  return orders_ == 0 ? 0 : std::uint64_t{RDE_ARENA_PAGE} << (orders_ - 1);
}

void ArenaAllocator::push(std::uint32_t page, std::uint8_t order) {
  free_order_[page] = order;
  previous_[page] = kEnd;
  next_[page] = heads_[order];
  if (heads_[order] != kEnd) previous_[heads_[order]] = page;
  heads_[order] = page;
}

void ArenaAllocator::remove(std::uint32_t page, std::uint8_t order) {
  free_order_[page] = kNone;
  if (previous_[page] == kEnd) {
    heads_[order] = next_[page];
  } else {
    next_[previous_[page]] = next_[page];
  }
  if (next_[page] != kEnd) previous_[next_[page]] = previous_[page];
}

}  // namespace rde
