#include "base/crc32c.h"
#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {

// With a buffer it reads every byte of it, so that a bench can compare with others that move a payload.
void op_ping(Shard& shard, EngineChannel& channel, const rde_request& request) {
  constexpr std::uint32_t kLargest = 1U << 20;  // a ping holds up the whole shard while it reads
  constexpr std::uint32_t kBytesAsOneRequest = 4096;
  const auto args = args_of<rde_ping_args>(request);
  if (args.reserved[0] != 0 || args.reserved[1] != 0)
    return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  std::uint32_t crc = 0;
  if (request.length != 0) {
    if (request.length > kLargest) return shard.complete_st(channel, request.tag, Status::transfer_too_large);
    const auto buffer = buffer_of(channel.client().view(), request);
    if (buffer.status != Status::ok) return shard.complete_st(channel, request.tag, buffer.status);
    channel.client().charge(request.length / kBytesAsOneRequest);
    crc = crc32c(buffer.bytes);
  }
  shard.complete_st(channel, request.tag, Status::ok, 0, 0, crc, now_ns());
}

}  // namespace rde
