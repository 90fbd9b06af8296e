#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {

void op_cancel(Shard& shard, EngineChannel& channel, const rde_request& request) {
  const auto args = args_of<rde_cancel_args>(request);
  if (args.reserved[0] != 0 || args.reserved[1] != 0)
    return shard.complete_st(channel, request.tag, Status::reserved_not_zero);
  Operation* operation = channel.find(args.tag);
  if (operation == nullptr || operation->state != Operation::State::in_flight) {
    return shard.complete_st(channel, request.tag, Status::no_such_request);
  }
  bump(shard.stats_st().cancelled);
  shard.answer_early_st(*operation, Status::cancelled);
  shard.complete_st(channel, request.tag, Status::ok);
}

}  // namespace rde
