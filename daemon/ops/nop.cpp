#include "ops/check.h"
#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {

void op_nop(Shard& shard, EngineChannel& channel, const rde_request& request) {
  shard.complete_st(channel, request.tag, no_args(request) ? Status::ok : Status::reserved_not_zero);
}

}  // namespace rde
