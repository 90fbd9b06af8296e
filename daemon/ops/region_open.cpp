#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {

// The token is looked at when it is used, by the engine that made it: it may end at any time.
void op_region_open(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  if (!no_args(request)) return refuse(Status::reserved_not_zero);
  const auto buffer = buffer_of(channel.client().view(), request);
  if (buffer.status != Status::ok) return refuse(buffer.status);
  if (buffer.bytes.size() != sizeof(rde_region_token))
    return refuse(buffer.bytes.size() < sizeof(rde_region_token) ? Status::buffer_too_small : Status::invalid_request);
  const Handle peer = Handle::from(request.handle);
  if (request.handle != 0) {
    const Status status = shard.io_st().check_region_peer(peer);
    if (status != Status::ok) return refuse(status);
  }
  rde_region_token token;
  std::memcpy(&token, buffer.bytes.data(), sizeof token);
  const Handle opened = channel.client().opened.add(peer, token);
  if (opened.is_null()) return refuse(Status::too_many_regions);
  shard.complete_st(channel, request.tag, Status::ok, 0, 0, 0, opened.value());
}

void op_region_close(Shard& shard, EngineChannel& channel, const rde_request& request) {
  if (!no_args(request)) return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  const Handle handle = Handle::from(request.handle);
  OpenedRegions& opened = channel.client().opened;
  OpenedRegion* region = opened.find(handle);
  if (region == nullptr) return shard.complete_st(channel, request.tag, opened.why_not(handle));
  // What is under way goes on; nothing will tell a FLUSH any more that it has ended.
  for (Operation* flush : region->flushes) shard.end_st(*flush, Status::stale_handle, 0, 0, 0, 0);
  region->flushes.clear();
  opened.remove(handle);
  shard.complete_st(channel, request.tag, Status::ok);
}

}  // namespace rde
