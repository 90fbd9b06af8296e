// What the operations on an opened region have in common.
//
//   RegionUseRequest use(shard, channel, request);
//   if (use.status != Status::ok) return use.refuse(use.status);
//   use.kind = RegionJob::Kind::fetch_add;
//   use.run();
#pragma once

#include "ops/check.h"
#include "shard/shard.h"

namespace rde {

class RegionUseRequest {
 public:
  // Looks the region up.
  RegionUseRequest(Shard& shard, EngineChannel& channel, const rde_request& request)
      : shard_(shard),
        channel_(channel),
        request_(request),
        region_(channel.client().opened.find(Handle::from(request.handle))) {
    const Handle handle = Handle::from(request.handle);
    status = region_ != nullptr ? check_peer() : channel.client().opened.why_not(handle);
  }

  Status status = Status::ok;
  RegionJob::Kind kind = RegionJob::Kind::flush;
  std::uint64_t offset = 0;
  std::span<std::byte> buffer;
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;

  [[nodiscard]] OpenedRegion& region() { return *region_; }
  void refuse(Status why) { shard_.complete_st(channel_, request_.tag, why); }
  // Does it now where that is short, or keeps it; null where it is over.
  Operation* begin();
  // begin(), and hands it on.
  void run() {
    if (Operation* operation = begin()) shard_.use_region_st(*operation);
  }

 private:
  [[nodiscard]] Status check_peer() const {
    if (region_->peer.is_null()) return Status::ok;
    const Status peer = shard_.io_st().check_region_peer(region_->peer);
    if (peer != Status::ok) return peer;
    return channel_.client().transport_memory == nullptr ? Status::registration_failed : Status::ok;
  }
  template <class Job>
  void describe(Job& job) const {
    job.kind = kind;
    job.token = region_->token;
    job.offset = offset;
    job.buffer = buffer;
    job.operand = operand;
    job.compare = compare;
    job.value = 0;
  }
  [[nodiscard]] bool is_short() const { return region_->peer.is_null() && buffer.size() <= kRegionAtOnce; }
  void do_now();

  Shard& shard_;
  EngineChannel& channel_;
  const rde_request& request_;
  OpenedRegion* region_;
};

}  // namespace rde
