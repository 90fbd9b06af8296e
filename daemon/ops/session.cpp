#include "base/clock.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {

void op_session_open(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  const auto args = args_of<rde_session_open_args>(request);
  if (args.reserved[0] != 0 || args.reserved[1] != 0) return refuse(Status::reserved_not_zero);
  if (request.handle != 0) {
    const Status peer = shard.io_st().check_peer(Handle::from(request.handle));
    if (peer != Status::ok) return refuse(peer);
  }
  // The turn's time is old where this process stood still.
  const auto opened = shard.sessions_st().open(channel.client().sessions, args.timeout_ns, request.handle, now_ns());
  shard.complete_st(channel, request.tag, opened.status, 0, 0, 0, opened.session.value());
}

// Ends the session whatever the client says of its transfer; only what is no session, or not for this client, stays.
void op_session_close(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto refuse = [&](Status status) { shard.complete_st(channel, request.tag, status); };
  const auto args = args_of<rde_session_close_args>(request);
  if (args.reserved0 != 0 || args.reserved != 0) return refuse(Status::reserved_not_zero);
  if ((args.flags & ~unsigned{RDE_SESSION_FLAG_CRC}) != 0) return refuse(Status::invalid_flags);
  if (args.result != RDE_SESSION_RESULT_DONE && args.result != RDE_SESSION_RESULT_FAILED)
    return refuse(Status::invalid_request);
  SessionReport report{.success = args.result == RDE_SESSION_RESULT_DONE, .bytes = args.bytes, .crc = std::nullopt};
  if ((args.flags & RDE_SESSION_FLAG_CRC) != 0) report.crc = args.crc;
  const auto closed =
      shard.sessions_st().close(Handle::from(request.handle), channel.client().sessions, report, now_ns());
  shard.complete_st(channel, request.tag, closed.status, closed.crc_known ? 0 : RDE_COMPLETION_FLAG_UNVERIFIED, 0,
                    closed.crc, closed.bytes);
}

}  // namespace rde
