#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {
namespace {

constexpr std::uint32_t kRights = RDE_REGION_RIGHT_READ | RDE_REGION_RIGHT_WRITE | RDE_REGION_RIGHT_ATOMIC;

Status check(const rde_region_expose_args& args, std::uint64_t arena_size) {
  if (args.length == 0) return Status::length_zero;
  if (args.offset > arena_size || args.length > arena_size - args.offset) return Status::buffer_out_of_range;
  if (args.rights == 0 || (args.rights & ~kRights) != 0) return Status::invalid_request;
  // So that a word's place in the region says whether it is aligned in memory.
  if ((args.rights & RDE_REGION_RIGHT_ATOMIC) != 0 && args.offset % sizeof(std::uint64_t) != 0)
    return Status::region_misaligned;
  if (args.lifetime_ms * kMillisecond > kLongestRegionLife) return Status::invalid_request;
  return Status::ok;
}

}  // namespace

void op_region_expose(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  const auto args = args_of<rde_region_expose_args>(request);
  ClientState& client = channel.client();
  const auto arena = client.view().arena();
  if (request.handle != 0) return refuse(Status::invalid_handle);
  if (const Status status = check(args, arena.size()); status != Status::ok) return refuse(status);
  const auto buffer = buffer_of(client.view(), request);
  if (buffer.status != Status::ok) return refuse(buffer.status);
  if (buffer.bytes.size() < sizeof(rde_region_token)) return refuse(Status::buffer_too_small);
  if (client.exposed.size() >= kRegionsPerClient) return refuse(Status::too_many_regions);

  const Nanoseconds lifetime = args.lifetime_ms == 0 ? kDefaultRegionLife : args.lifetime_ms * kMillisecond;
  const Nanoseconds expires = now_ns() + lifetime;
  const auto exposed = shard.regions_st().expose({.owner = client.number(),
                                                  .bytes = arena.subspan(args.offset, args.length),
                                                  .rights = args.rights,
                                                  .expires = expires});
  if (exposed.status != Status::ok) return refuse(exposed.status);
  shard.watch_region_st(client, Handle::from(exposed.token.region), expires);
  std::memcpy(buffer.bytes.data(), &exposed.token, sizeof exposed.token);
  shard.complete_st(channel, request.tag, Status::ok, 0, sizeof exposed.token, 0, exposed.token.region);
}

// The completion is a barrier: it comes when no copy of the region's bytes is under way any more.
void op_region_revoke(Shard& shard, EngineChannel& channel, const rde_request& request) {
  if (!no_args(request)) return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  const Handle region = Handle::from(request.handle);
  ClientState& client = channel.client();
  // Closed before anything can refuse the request: whatever the answer, nobody begins a new copy.
  Status status = shard.regions_st().close(region, client.number(), RegionEnd::revoked);
  // Revoked before, and its answer came early, at a deadline: this one waits for the same copies.
  if (status == Status::stale_handle && client.exposed.contains(request.handle)) status = Status::ok;
  if (status != Status::ok) return shard.complete_st(channel, request.tag, status);
  if (!shard.regions_st().is_pinned(region)) {
    shard.forget_region_st(client, region);
    return shard.complete_st(channel, request.tag, Status::ok);
  }
  if (Operation* operation = shard.begin_st(channel, request)) shard.end_revoke_st(*operation);
}

}  // namespace rde
