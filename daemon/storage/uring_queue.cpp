#include "storage/uring_queue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/atomic.h"

namespace rde {
namespace {

constexpr unsigned kSlots = 4096;
constexpr std::size_t kMaxPiece = std::size_t{1} << 30;

const std::byte* end_of(std::span<std::byte> memory) { return memory.data() + memory.size(); }

}  // namespace

Result<std::unique_ptr<UringQueue>> UringQueue::open(unsigned depth, int event_fd) {
  std::unique_ptr<UringQueue> queue(new UringQueue(depth));
  // Completion work waits for our own system calls instead of interrupting us; kernels before 5.19 do not know that.
  constexpr std::array kFlags{IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG, 0U};
  int code = 0;
  for (const unsigned flags : kFlags) {
    io_uring_params params{};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = depth * 2;
    code = io_uring_queue_init_params(depth, &queue->ring_, &params);
    if (code == 0 || code != -EINVAL) break;
  }
  if (code != 0) return system_error("io_uring_setup", -code);
  queue->is_open_ = true;
  io_uring_ring_dontfork(&queue->ring_);
  code = io_uring_register_eventfd(&queue->ring_, event_fd);
  if (code != 0) return system_error("io_uring_register_eventfd", -code);
  // Telling costs some microseconds a read. Kernels before 5.8 tell always.
  io_uring_cq_eventfd_toggle(&queue->ring_, false);
  if (io_uring_register_buffers_sparse(&queue->ring_, kSlots) == 0) {
    for (unsigned slot = kSlots; slot-- > 0;) queue->free_slots_.push_back(slot);
  }
  return queue;
}

UringQueue::~UringQueue() {
  if (is_open_) io_uring_queue_exit(&ring_);
}

int UringQueue::slot_of(std::span<std::byte> memory) const {
  auto after = std::ranges::upper_bound(pieces_, memory.data(), {}, [](const Piece& p) { return p.memory.data(); });
  if (after == pieces_.begin()) return -1;
  const Piece& piece = *--after;
  return end_of(memory) <= end_of(piece.memory) ? static_cast<int>(piece.slot) : -1;
}

void UringQueue::push(const FileRead& read) {
  // Never null: of the caller's reads at most depth() have not been taken yet, and the ring holds that many.
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  const auto size = static_cast<unsigned>(read.to.size());
  if (const int slot = slot_of(read.to); slot >= 0) {
    io_uring_prep_read_fixed(entry, read.fd, read.to.data(), size, read.offset, slot);
  } else {
    io_uring_prep_read(entry, read.fd, read.to.data(), size, read.offset);
  }
  entry->user_data = read.token;
  unflushed_ = true;
}

void UringQueue::flush() {
  if (!unflushed_) return;
  // Less is taken on EAGAIN, EBUSY and EINTR; the rest stays in the ring for the next call.
  io_uring_submit(&ring_);
  unflushed_ = io_uring_sq_ready(&ring_) != 0;
}

std::span<const FileReadEnd> UringQueue::reap(std::span<FileReadEnd> room) {
  if (std::exchange(armed_, false)) io_uring_cq_eventfd_toggle(&ring_, false);
  std::array<io_uring_cqe*, 64> ends;
  const auto most = static_cast<unsigned>(std::min(room.size(), ends.size()));
  // Also runs pending completion work, and takes in what overflowed.
  const unsigned count = io_uring_peek_batch_cqe(&ring_, ends.data(), most);
  for (unsigned i = 0; i < count; ++i) room[i] = {ends[i]->user_data, ends[i]->res};
  io_uring_cq_advance(&ring_, count);
  return room.first(count);
}

bool UringQueue::arm() {
  armed_ = true;
  io_uring_cq_eventfd_toggle(&ring_, true);
  full_fence();  // the kernel adds an end, then looks whether to tell; we ask to be told, then look for an end
  io_uring_cqe* end = nullptr;
  return !unflushed_ && io_uring_peek_cqe(&ring_, &end) != 0;
}

bool UringQueue::update_slot(unsigned slot, std::span<std::byte> memory) {
  iovec where{memory.data(), memory.size()};
  __u64 tag = 0;
  return io_uring_register_buffers_update_tag(&ring_, slot, &where, &tag, 1) == 1;
}

void UringQueue::add_memory(std::span<std::byte> memory) {
  while (!memory.empty() && !free_slots_.empty()) {
    const Piece piece{memory.first(std::min(memory.size(), kMaxPiece)), free_slots_.back()};
    memory = memory.subspan(piece.memory.size());
    if (!update_slot(piece.slot, piece.memory)) return;  // RLIMIT_MEMLOCK, mostly: plain reads do as well
    free_slots_.pop_back();
    pieces_.insert(
        std::ranges::upper_bound(pieces_, piece.memory.data(), {}, [](const Piece& p) { return p.memory.data(); }),
        piece);
  }
}

void UringQueue::remove_memory(std::span<std::byte> memory) {
  std::erase_if(pieces_, [&](const Piece& piece) {
    if (piece.memory.data() < memory.data() || end_of(piece.memory) > end_of(memory)) return false;
    update_slot(piece.slot, {});
    free_slots_.push_back(piece.slot);
    return true;
  });
}

}  // namespace rde
