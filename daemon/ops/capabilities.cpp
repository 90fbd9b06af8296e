#include "attach/hello.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"
#include "version.h"

namespace rde {

void op_capabilities(Shard& shard, EngineChannel& channel, const rde_request& request) {
  if (!no_args(request)) return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  const auto buffer = buffer_of(channel.client().view(), request);
  if (buffer.status != Status::ok) return shard.complete_st(channel, request.tag, buffer.status);
  if (buffer.bytes.size() < sizeof(rde_capabilities))
    return shard.complete_st(channel, request.tag, Status::buffer_too_small);
  const auto summary = shard.io_st().summary();
  rde_capabilities answer{};
  answer.abi_major = RDE_ABI_MAJOR;
  answer.abi_minor = RDE_ABI_MINOR;
  answer.features = RDE_FEATURE_REGIONS;
  answer.max_transfer = channel.client().view().header().arena_size;
  answer.max_sessions = shard.sessions_st().most();
  answer.active_sessions = shard.sessions_st().live();
  answer.session_timeout_ns = shard.sessions_st().timeout();
  answer.peers = summary.peers_ready;
  answer.volumes = summary.volumes;
  answer.real_rdma = summary.real_rdma ? 1 : 0;
  put_text(answer.version, kVersion);
  put_text(answer.transport, summary.transport);
  put_text(answer.device, summary.device);
  std::memcpy(buffer.bytes.data(), &answer, sizeof answer);
  shard.complete_st(channel, request.tag, Status::ok, 0, sizeof answer, 0, sizeof answer);
}

}  // namespace rde
