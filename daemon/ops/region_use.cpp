#include "ops/region_use.h"

#include "ops/ops.h"
#include "region/region_access.h"

namespace rde {
namespace {

constexpr std::uint32_t kBytesAsOneRequest = 4096;

struct ShortJob final : RegionJob {
  virtual ~ShortJob() = default;
  void on_done() override {}
};

}  // namespace

void RegionUseRequest::do_now() {
  ShortJob job;
  describe(job);
  channel_.client().charge(static_cast<std::uint32_t>(buffer.size()) / kBytesAsOneRequest);
  const Nanoseconds now = now_ns();
  if (request_.deadline_ns != 0 && now >= request_.deadline_ns) return refuse(Status::deadline_exceeded);
  regions::carry_out(shard_.regions_st(), job, now);
  const bool moved = job.status == Status::ok && job.is_transfer();
  shard_.complete_st(channel_, request_.tag, job.status, 0, moved ? request_.length : 0, 0, job.value);
}

Operation* RegionUseRequest::begin() {
  if (is_short() && kind != RegionJob::Kind::flush) {
    do_now();
    return nullptr;
  }
  Operation* operation = shard_.begin_st(channel_, request_);
  if (operation == nullptr) return nullptr;
  operation->peer = region_->peer;
  operation->is_region = true;
  Operation::RegionUse& use = operation->region;
  describe(use);
  use.bulk = request_.priority == RDE_PRIORITY_BULK;
  use.deadline = operation->deadline;
  use.status = Status::ok;
  use.order = ++region_->order;
  use.awaited = 0;
  region_->changing += use.changes() ? 1 : 0;
  return operation;
}

namespace {

void transfer(Shard& shard, EngineChannel& channel, const rde_request& request, RegionJob::Kind kind) {
  RegionUseRequest use(shard, channel, request);
  const auto args = args_of<rde_region_args>(request);
  if ((args.reserved[0] | args.reserved[1]) != 0) return use.refuse(Status::reserved_not_zero);
  const auto buffer = buffer_of(channel.client().view(), request);
  if (buffer.status != Status::ok) return use.refuse(buffer.status);
  if (channel.client().quarantined_bytes > shard.options().max_quarantined_bytes)
    return use.refuse(Status::quarantine_full);
  if (use.status != Status::ok) return use.refuse(use.status);
  // Past 2^64 a later part would begin at a small offset again.
  if (request.length > ~args.offset) return use.refuse(Status::region_out_of_range);
  use.kind = kind;
  use.offset = args.offset;
  use.buffer = buffer.bytes;
  use.run();
}

}  // namespace

void op_region_read(Shard& shard, EngineChannel& channel, const rde_request& request) {
  transfer(shard, channel, request, RegionJob::Kind::read);
}

void op_region_write(Shard& shard, EngineChannel& channel, const rde_request& request) {
  transfer(shard, channel, request, RegionJob::Kind::write);
}

void op_fetch_add(Shard& shard, EngineChannel& channel, const rde_request& request) {
  RegionUseRequest use(shard, channel, request);
  const auto args = args_of<rde_fetch_add_args>(request);
  if (args.reserved != 0) return use.refuse(Status::reserved_not_zero);
  if (use.status != Status::ok) return use.refuse(use.status);
  if (args.offset % sizeof(std::uint64_t) != 0) return use.refuse(Status::region_misaligned);
  use.kind = RegionJob::Kind::fetch_add;
  use.offset = args.offset;
  use.operand = args.add;
  use.run();
}

void op_compare_swap(Shard& shard, EngineChannel& channel, const rde_request& request) {
  RegionUseRequest use(shard, channel, request);
  const auto args = args_of<rde_compare_swap_args>(request);
  if (use.status != Status::ok) return use.refuse(use.status);
  if (args.offset % sizeof(std::uint64_t) != 0) return use.refuse(Status::region_misaligned);
  use.kind = RegionJob::Kind::compare_swap;
  use.offset = args.offset;
  use.operand = args.swap;
  use.compare = args.compare;
  use.run();
}

void op_flush(Shard& shard, EngineChannel& channel, const rde_request& request) {
  RegionUseRequest use(shard, channel, request);
  if (!no_args(request)) return use.refuse(Status::reserved_not_zero);
  if (use.status != Status::ok) return use.refuse(use.status);
  OpenedRegion& region = use.region();
  if (region.flushes.size() >= kFlushesPerRegion) return use.refuse(Status::resource_exhausted);
  Operation* operation = use.begin();
  if (operation == nullptr) return;
  operation->region.awaited = region.changing;
  if (region.changing == 0) return shard.use_region_st(*operation);
  region.flushes.push_back(operation);
}

}  // namespace rde
