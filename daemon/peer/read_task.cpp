#include "peer/read_task.h"

#include <algorithm>

#include "base/crc32c.h"
#include "peer/peer_host.h"
#include "peer/task_pools.h"
#include "rde_layout.h"

namespace rde {

void ReadTask::begin(ObjectJob& job, Memory& memory, RemotePeer* peer, const SliceSizes& sizes) {
  PeerTask::begin(memory, peer, job.kind == ObjectJob::Kind::read && job.destination.size() > sizes.small_read);
  job_ = &job;
  slice_size_ = sizes.slice;
  has_restarted_ = false;
  start();
}

void ReadTask::start() {
  must_restart_ = false;
  next_ = front_ = in_flight_ = 0;
  parts_ = {};
  facts_known_ = false;
  object_size_ = bytes_ = 0;
  etag_ = crc_ = 0;
  flags_ = 0;
}

std::uint64_t ReadTask::wanted() const {
  const std::uint64_t room = job_->destination.size();
  if (job_->kind == ObjectJob::Kind::stat) return std::min<std::uint64_t>(room, slice_size_);
  if (!facts_known_) return room;
  return job_->offset < object_size_ ? std::min(room, object_size_ - job_->offset) : 0;
}

std::uint64_t ReadTask::slice_length(std::uint32_t index) const {
  const std::uint64_t start = std::uint64_t{index} * slice_size_;
  return std::min<std::uint64_t>(slice_size_, job_->destination.size() - start);
}

bool ReadTask::can_issue() const {
  if (is_failing() || next_ - front_ >= kWindow) return false;
  // The first slice is always asked for: its answer says what the object is.
  return next_ == 0 || std::uint64_t{next_} * slice_size_ < wanted();
}

std::optional<PeerTask::Slice> ReadTask::next_slice() {
  if (!can_issue()) return std::nullopt;
  const std::uint32_t index = next_++;
  ++in_flight_;
  parts_[index % kWindow] = {};
  const std::uint64_t start = std::uint64_t{index} * slice_size_;
  const auto destination = job_->destination.subspan(start, slice_length(index));
  return Slice{index, job_->offset + start, static_cast<std::uint32_t>(destination.size()), destination};
}

std::span<const std::byte> ReadTask::encode(const Slice& slice, const Envelope& envelope,
                                            std::span<std::byte> room) const {
  const bool is_read = job_->kind == ObjectJob::Kind::read;
  const wire::RequestMessage message{
      .head = wire::head_of<wire::RequestMessage>(is_read ? wire::kRead : wire::kStat),
      .id = envelope.id,
      .needle = job_->id.needle,
      .offset = is_read ? slice.offset : 0,
      .volume = job_->id.volume,
      .cookie = job_->id.cookie,
      .length = envelope.landing.length,
      .flags = static_cast<std::uint16_t>((job_->skip_crc ? wire::kSkipCrc : 0) | (job_->bulk ? wire::kBulk : 0)),
      .reserved = 0,
      .budget_ms = envelope.budget_ms,
      .landing_key = envelope.landing.key,
      .landing_address = envelope.landing.address};
  std::memcpy(room.data(), &message, sizeof message);
  return room.first(sizeof message);
}

// Every slice of an object lands.
void ReadTask::on_answer(const wire::RegionDoneMessage& /*done*/) {
  on_lost();
  fail(Status::protocol_error);
}

void ReadTask::on_slice(const Slice& slice, const wire::DataHeader& data) {
  --in_flight_;
  if (is_failing()) return;
  const std::uint32_t index = slice.index;
  const std::uint32_t crc = job_->skip_crc ? 0 : crc32c(slice.destination.first(data.bytes));
  Part& part = parts_[index % kWindow];
  const std::uint64_t start = std::uint64_t{index} * slice_size_;
  const auto status = static_cast<Status>(data.status);
  if (status == Status::offset_past_end && index != 0) {
    // Asked for before the size was known. An object that reaches this far was another one a moment ago.
    if (facts_known_ && start < wanted()) must_restart_ = true;
    part = {.done = true};
    return advance_front();
  }
  if (status != Status::ok) return fail(status);
  if (!job_->skip_crc && crc != data.crc) return fail(Status::object_corrupt);
  if (facts_known_ && (data.object_size != object_size_ || data.etag != etag_)) {
    must_restart_ = true;
    return;
  }
  if (!facts_known_) {
    facts_known_ = true;
    object_size_ = data.object_size;
    etag_ = data.etag;
  }
  if (job_->kind == ObjectJob::Kind::read) {
    const std::uint64_t left = wanted() > start ? wanted() - start : 0;
    if (data.bytes != std::min(left, slice_length(index))) return fail(Status::protocol_error);
  }
  flags_ |= data.flags;
  part = {.done = true, .bytes = data.bytes, .crc = data.crc};
  advance_front();
}

void ReadTask::advance_front() {
  while (front_ < next_ && parts_[front_ % kWindow].done) {
    Part& part = parts_[front_++ % kWindow];
    crc_ = crc32c_combine(crc_, part.crc, part.bytes);
    bytes_ += part.bytes;
    part.done = false;
  }
}

bool ReadTask::has_ended() {
  if (in_flight_ != 0) return false;
  if (failure_ != Status::ok) return true;
  const bool is_short =
      front_ == next_ && next_ != 0 && !can_issue() && job_->kind == ObjectJob::Kind::read && bytes_ != wanted();
  if (must_restart_ || is_short) {
    if (has_restarted_) {
      failure_ = Status::volume_changing;
      return true;
    }
    has_restarted_ = true;
    start();
    return false;
  }
  return front_ == next_ && next_ != 0 && !can_issue();
}

void ReadTask::write_answer(PeerCounters& counters) {
  sum_up();
  const bool is_good = job_->status == Status::ok;
  counters.reads += is_good ? 1 : 0;
  counters.read_bytes += job_->bytes;
  counters.failed_reads += is_good ? 0 : 1;
}

void ReadTask::give_back(TaskPools& pools) { pools.reads.give_back(*this); }

void ReadTask::sum_up() {
  ObjectJob& job = *job_;
  job.status = failure_;
  job.bytes = job.crc = job.etag = 0;
  job.object_size = 0;
  job.flags = 0;
  if (failure_ != Status::ok) return;
  constexpr std::uint16_t kPacking = RDE_COMPLETION_FLAG_GZIP | RDE_COMPLETION_FLAG_MANIFEST;
  job.flags = flags_ & kPacking;
  job.etag = etag_;
  job.object_size = object_size_;
  if (job.kind == ObjectJob::Kind::read) {
    const bool is_whole = job.offset == 0 && bytes_ == object_size_;
    if (job.offset + bytes_ >= object_size_) job.flags |= RDE_COMPLETION_FLAG_END;
    if (is_whole && !job.skip_crc && crc_ != etag_) {
      job.flags = 0;
      job.status = Status::object_corrupt;
      return;
    }
    const bool is_unverified = job.skip_crc || (!is_whole && (flags_ & RDE_COMPLETION_FLAG_UNVERIFIED) != 0);
    if (is_unverified) job.flags |= RDE_COMPLETION_FLAG_UNVERIFIED;
  }
  job.bytes = static_cast<std::uint32_t>(bytes_);
  job.crc = job.skip_crc ? 0 : crc_;
}

}  // namespace rde
