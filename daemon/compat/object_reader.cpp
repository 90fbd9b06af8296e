#include "compat/object_reader.h"

#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "prim/socket.h"
#include "seaweed/needle.h"

namespace rde::compat {
namespace {

constexpr std::uint32_t kSlice = 256U << 10;
constexpr std::uint64_t kSegment = std::uint64_t{8} << 20;  // holds all slices, and the rings
constexpr std::uint64_t kLargest = 0xFFFF'FFFF;             // of an object: its index entry has 32 bits for it
constexpr std::uint32_t kSlicesInTurn = 16;                 // of one read, while others wait
constexpr Nanoseconds kAttachTime = 2 * kSecond;
constexpr Nanoseconds kBetweenAttempts = kSecond;

}  // namespace

ObjectReader::Link::Link(Attachment given)
    : attachment(std::move(given)),
      channel(attachment.view, 0, attachment.doorbells[0].get()),
      arena(attachment.view.header().arena_size),
      sleeper(attachment.view.client_doorbell(), attachment.view.header().channel_count) {}

void ObjectReader::read(std::uint64_t reader, const ReadRequest& request, Done done) {
  waiting_.push_back({.reader = reader, .request = request, .done = std::move(done), .position = request.offset});
}

void ObjectReader::forget(std::uint64_t reader) {
  std::erase_if(waiting_, [&](const Task& task) { return task.reader == reader; });
  // What is under way ends with its slice.
  for (auto& task : tasks_) {
    if (task && task->reader == reader) task->answered = true;
  }
}

bool ObjectReader::attached() {
  if (link_) return true;
  const Nanoseconds now = now_ns();
  if (now < next_attempt_) return false;
  next_attempt_ = now + kBetweenAttempts;
  auto attachment = attach({.socket = socket_,
                            .name = "ipc-socket",
                            .segment_size = kSegment,
                            .channels = 1,
                            .depth = 2 * kSlots,
                            .timeout = kAttachTime});
  if (!attachment) {
    spdlog::warn("the IPC socket cannot read objects: {}", attachment.error().text);
    return false;
  }
  link_ = std::make_unique<Link>(std::move(*attachment));
  return true;
}

void ObjectReader::progress() {
  if (link_) {
    Reaped reaped;
    while (link_->channel.reap(reaped)) take(reaped);
    pollfd engine{link_->attachment.socket.get(), POLLIN | POLLRDHUP, 0};
    if (link_->channel.broken() || link_->channel.faulted() || poll(&engine, 1, 0) > 0) drop_link();
  }
  start_waiting();
}

void ObjectReader::start_waiting() {
  while (!waiting_.empty()) {
    const auto found = std::ranges::find_if(tasks_, [](const auto& task) { return !task; });
    const bool is_late = waiting_.front().request.deadline <= now_ns();
    if (found == tasks_.end() && !is_late) return;
    if (is_late || !attached()) {
      Task task = std::move(waiting_.front());
      waiting_.pop_front();
      answer(task, is_late ? Status::deadline_exceeded : Status::resource_exhausted);
      continue;
    }
    const auto page = link_->arena.allocate(kSlice);
    if (!page) return;
    const auto slot = static_cast<std::uint32_t>(found - tasks_.begin());
    *found = std::move(waiting_.front());
    waiting_.pop_front();
    (*found)->page = *page;
    submit_slice(slot);
    if ((*found)->answered) free(slot);
  }
}

// The engine has closed the attachment: nothing of it comes any more.
void ObjectReader::drop_link() {
  link_.reset();
  for (auto& task : tasks_) {
    if (task) answer(*task, Status::engine_gone);
    task.reset();
  }
}

bool ObjectReader::submit(std::uint32_t slot, std::uint8_t op, std::uint64_t offset, std::uint32_t length) {
  const Task& task = *tasks_[slot];
  rde_request request{};
  request.op = op;
  request.deadline_ns = task.request.deadline;
  request.buffer_page = task.page;
  request.length = length;
  const rde_object_args args{.needle = task.request.id.needle,
                             .volume = task.request.id.volume,
                             .cookie = task.request.id.cookie,
                             .offset = offset};
  std::memcpy(request.args, &args, sizeof args);
  return static_cast<bool>(link_->channel.submit(request, slot));
}

void ObjectReader::submit_slice(std::uint32_t slot) {
  Task& task = *tasks_[slot];
  std::uint64_t left = kSlice;
  if (task.request.size != 0) left = task.request.size - (task.position - task.request.offset);
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kSlice));
  if (!submit(slot, RDE_OP_OBJECT_READ, task.position, length)) answer(task, Status::ring_full);
}

void ObjectReader::next_slice(std::uint32_t slot) {
  Task& task = *tasks_[slot];
  if (++task.slices % kSlicesInTurn != 0 || waiting_.empty()) return submit_slice(slot);
  waiting_.push_back(std::move(task));
  free(slot);
}

void ObjectReader::take(const Reaped& reaped) {
  const auto slot = static_cast<std::uint32_t>(reaped.user);
  Task& task = *tasks_[slot];
  if (reaped.ends && task.answered) {
    // Forgotten.
  } else if (reaped.ends && reaped.status != Status::ok) {
    answer(task, reaped.status);
  } else if (reaped.ends) {
    task.asks_stat ? take_stat(slot, reaped) : take_slice(slot, reaped);
  }
  // Where the engine may still write into the buffer, a second completion comes.
  if (tasks_[slot] && tasks_[slot]->answered && reaped.returns_buffer) free(slot);
}

void ObjectReader::take_slice(std::uint32_t slot, const Reaped& reaped) {
  Task& task = *tasks_[slot];
  const bool first = task.position == task.request.offset;
  if (!first && reaped.value != task.object_size) return answer(task, Status::volume_changing);  // another object now
  task.object_size = reaped.value;
  task.unverified |= (reaped.flags & RDE_COMPLETION_FLAG_UNVERIFIED) != 0;
  task.crc = first ? reaped.crc : crc32c_combine(task.crc, reaped.crc, reaped.bytes);
  task.position += reaped.bytes;
  if (task.position - task.request.offset > kLargest) return answer(task, Status::transfer_too_large);
  const bool ended = (reaped.flags & RDE_COMPLETION_FLAG_END) != 0;
  const bool enough = task.request.size != 0 && task.position - task.request.offset >= task.request.size;
  if (!ended && !enough) return reaped.bytes == 0 ? answer(task, Status::internal) : next_slice(slot);
  // A whole object that came in parts is compared with the checksum in its record.
  if (!ended || task.request.offset != 0 || !task.unverified) return answer(task, Status::ok);
  task.asks_stat = true;
  if (!submit(slot, RDE_OP_OBJECT_STAT, 0, kSlice)) answer(task, Status::ring_full);
}

void ObjectReader::take_stat(std::uint32_t slot, const Reaped& reaped) {
  Task& task = *tasks_[slot];
  rde_object_stat stat;
  if (reaped.bytes < sizeof stat) return answer(task, Status::internal);
  std::memcpy(&stat, link_->attachment.view.buffer(task.page, sizeof stat).data(), sizeof stat);
  if (stat.stored_size != task.object_size) return answer(task, Status::volume_changing);
  answer(task, crc_matches(stat.etag, task.crc) ? Status::ok : Status::object_corrupt);
}

void ObjectReader::answer(Task& task, Status status) {
  if (task.answered) return;
  task.answered = true;
  const std::uint64_t bytes = status == Status::ok ? task.position - task.request.offset : 0;
  task.done({status, bytes, status == Status::ok ? task.crc : 0});
}

void ObjectReader::free(std::uint32_t slot) {
  link_->arena.release(tasks_[slot]->page);
  tasks_[slot].reset();
}

std::array<int, 2> ObjectReader::descriptors() const {
  if (!link_) return {-1, -1};
  return {link_->attachment.wake.get(), link_->attachment.socket.get()};
}

bool ObjectReader::prepare_sleep() {
  if (!link_) return true;
  store_seq_cst(&link_->channel.lines()->completion_cold, std::uint32_t{1});
  link_->sleeping = true;
  link_->sleeper.announce();
  full_fence();  // SYNC POINT cold: pairs with the fence that the engine makes after it published completions
  return !link_->sleeper.any() && !link_->channel.ready();
}

void ObjectReader::end_sleep() {
  if (!link_ || !link_->sleeping) return;
  link_->sleeping = false;
  link_->sleeper.wake();
  link_->sleeper.take([](std::uint32_t) {});
  store_relaxed(&link_->channel.lines()->completion_cold, std::uint32_t{0});
  (void)prim::drain_wake(link_->attachment.wake.get());
}

}  // namespace rde::compat
