#include "peer/region_task.h"

#include <algorithm>
#include <cstring>

#include "peer/peer_host.h"
#include "peer/task_pools.h"

namespace rde {
namespace {

template <class M>
std::span<const std::byte> put(std::span<std::byte> room, const M& message) {
  std::memcpy(room.data(), &message, sizeof message);
  return room.first(sizeof message);
}

}  // namespace

void RegionTask::begin(RegionJob& job, Memory& memory, RemotePeer* peer, const SliceSizes& sizes) {
  PeerTask::begin(memory, peer, job.is_transfer() && job.buffer.size() > sizes.small_read);
  job_ = &job;
  slice_size_ = job.kind == RegionJob::Kind::write ? wire::kRegionWriteBytes : sizes.slice;
  next_ = value_ = 0;
  end_ = job.is_transfer() ? job.buffer.size() : 1;
}

std::optional<PeerTask::Slice> RegionTask::next_slice() {
  if (!can_issue()) return std::nullopt;
  ++in_flight_;
  if (!job_->is_transfer()) {
    next_ = end_;
    return Slice{.offset = job_->offset};
  }
  const std::uint64_t at = next_;
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(slice_size_, end_ - at));
  next_ += length;
  Slice slice{.offset = job_->offset + at, .length = length};
  if (job_->kind == RegionJob::Kind::read) slice.destination = job_->buffer.subspan(at, length);
  return slice;
}

wire::RegionWordMessage RegionTask::word_message(std::uint64_t id) const {
  wire::RegionWordMessage message{.head = wire::head_of<wire::RegionWordMessage>(wire::kRegionWord),
                                  .id = id,
                                  .token = job_->token,
                                  .kind = wire::kLook};
  if (job_->kind == RegionJob::Kind::flush) return message;
  message.offset = job_->offset;
  message.operand = job_->operand;
  message.kind = job_->kind == RegionJob::Kind::fetch_add ? wire::kFetchAdd : wire::kCompareSwap;
  if (message.kind == wire::kCompareSwap) message.compare = job_->compare;
  return message;
}

std::span<const std::byte> RegionTask::encode(const Slice& slice, const Envelope& envelope,
                                              std::span<std::byte> room) const {
  const std::uint64_t at = slice.offset - job_->offset;
  if (job_->kind == RegionJob::Kind::read) {
    return put(room, wire::RegionReadMessage{.head = wire::head_of<wire::RegionReadMessage>(wire::kRegionRead),
                                             .id = envelope.id,
                                             .token = job_->token,
                                             .offset = slice.offset,
                                             .rest = end_ - at,
                                             .length = slice.length,
                                             .budget_ms = envelope.budget_ms,
                                             .reserved = 0,
                                             .flags = static_cast<std::uint16_t>(job_->bulk ? wire::kBulk : 0),
                                             .landing_key = envelope.landing.key,
                                             .landing_address = envelope.landing.address});
  }
  if (job_->kind != RegionJob::Kind::write) return put(room, word_message(envelope.id));
  wire::RegionWriteMessage message{.head = wire::head_of<wire::RegionWriteMessage>(wire::kRegionWrite),
                                   .id = envelope.id,
                                   .token = job_->token,
                                   .offset = slice.offset,
                                   .rest = end_ - at,
                                   .length = slice.length,
                                   .reserved = 0};
  message.head.size = static_cast<std::uint16_t>(sizeof message + slice.length);
  put(room, message);
  std::memcpy(room.data() + sizeof message, job_->buffer.data() + at, slice.length);
  return room.first(message.head.size);
}

void RegionTask::on_slice(const Slice& slice, const wire::DataHeader& data) {
  --in_flight_;
  const auto status = static_cast<Status>(data.status);
  if (status != Status::ok) return fail(status);
  if (data.bytes != slice.length) fail(Status::protocol_error);
}

void RegionTask::on_answer(const wire::RegionDoneMessage& done) {
  --in_flight_;
  value_ = done.value;
  if (done.status != 0) fail(static_cast<Status>(done.status));
}

void RegionTask::write_answer(PeerCounters& counters) {
  job_->status = failure_;
  job_->value = failure_ == Status::ok ? value_ : 0;
  ++(failure_ == Status::ok ? counters.region_uses : counters.failed_region_uses);
}

void RegionTask::give_back(TaskPools& pools) { pools.regions.give_back(*this); }

}  // namespace rde
