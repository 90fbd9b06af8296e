#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {
namespace {

void run_job(Shard& shard, EngineChannel& channel, const rde_request& request, ObjectJob::Kind kind) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  const auto args = args_of<rde_object_args>(request);
  if (kind == ObjectJob::Kind::stat && args.offset != 0) return refuse(Status::reserved_not_zero);
  const auto buffer = buffer_of(channel.client().view(), request);
  if (buffer.status != Status::ok) return refuse(buffer.status);
  if (channel.client().quarantined_bytes > shard.options().max_quarantined_bytes)
    return refuse(Status::quarantine_full);

  // A handle names a peer, or a session that may have one; without a peer the engine takes its own volume first, then a
  // peer that announced it.
  Handle peer = Handle::from(request.handle);
  if ((request.flags & RDE_REQUEST_FLAG_IN_SESSION) != 0) {
    const auto used = shard.sessions_st().use(peer, channel.client().sessions, now_ns());
    if (used.status != Status::ok) return refuse(used.status);
    peer = used.peer;
  }
  if (peer.value() == 0) {
    const auto found = shard.io_st().route(args.volume);
    if (!found) return refuse(Status::volume_not_found);
    peer = *found;
  } else if (const Status status = shard.io_st().check_peer(peer); status != Status::ok) {
    return refuse(status);
  }
  if (!peer.is_null() && channel.client().transport_memory == nullptr) return refuse(Status::registration_failed);
  Operation* operation = shard.begin_st(channel, request);
  if (operation == nullptr) return;
  operation->peer = peer;
  operation->kind = kind;
  operation->skip_crc = (request.flags & RDE_REQUEST_FLAG_SKIP_CRC) != 0;
  operation->bulk = request.priority == RDE_PRIORITY_BULK;
  operation->id = {args.volume, args.needle, args.cookie};
  operation->offset = args.offset;
  operation->destination = buffer.bytes;
  operation->has_job = true;
  shard.io_st().submit(peer, *operation, {channel.client().transport_memory});
}

}  // namespace

void op_object_read(Shard& shard, EngineChannel& channel, const rde_request& request) {
  run_job(shard, channel, request, ObjectJob::Kind::read);
}

void op_object_stat(Shard& shard, EngineChannel& channel, const rde_request& request) {
  run_job(shard, channel, request, ObjectJob::Kind::stat);
}

}  // namespace rde
