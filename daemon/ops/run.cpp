#include <array>

#include "ops/ops.h"
#include "shard/shard.h"

namespace rde {
namespace {

using Run = void (*)(Shard&, EngineChannel&, const rde_request&);

struct Entry {
  Run run = nullptr;
  std::uint8_t flags = 0;       // that the operation knows
  bool while_draining = false;  // also taken by an engine that is stopping
};

constexpr std::array<Entry, RDE_OP_FLUSH + 1> kOperations = [] {
  std::array<Entry, RDE_OP_FLUSH + 1> table{};
  table[RDE_OP_NOP] = {op_nop, 0, true};
  table[RDE_OP_PING] = {op_ping, 0, true};
  table[RDE_OP_CAPABILITIES] = {op_capabilities, 0, true};
  table[RDE_OP_CONNECT] = {op_connect, 0, false};
  table[RDE_OP_DISCONNECT] = {op_disconnect, 0, true};
  table[RDE_OP_OBJECT_STAT] = {op_object_stat, RDE_REQUEST_FLAG_IN_SESSION, false};
  table[RDE_OP_OBJECT_READ] = {op_object_read, RDE_REQUEST_FLAG_SKIP_CRC | RDE_REQUEST_FLAG_IN_SESSION, false};
  table[RDE_OP_CANCEL] = {op_cancel, 0, true};
  table[RDE_OP_SESSION_OPEN] = {op_session_open, 0, false};
  table[RDE_OP_SESSION_CLOSE] = {op_session_close, 0, true};
  table[RDE_OP_REGION_EXPOSE] = {op_region_expose, 0, false};
  table[RDE_OP_REGION_REVOKE] = {op_region_revoke, 0, true};
  table[RDE_OP_REGION_OPEN] = {op_region_open, 0, false};
  table[RDE_OP_REGION_CLOSE] = {op_region_close, 0, true};
  table[RDE_OP_REGION_READ] = {op_region_read, 0, false};
  table[RDE_OP_REGION_WRITE] = {op_region_write, 0, false};
  table[RDE_OP_FETCH_ADD] = {op_fetch_add, 0, false};
  table[RDE_OP_COMPARE_SWAP] = {op_compare_swap, 0, false};
  table[RDE_OP_FLUSH] = {op_flush, 0, false};
  return table;
}();

}  // namespace

void run_operation(Shard& shard, EngineChannel& channel, const rde_request& request) {
  if (request.op >= kOperations.size() || kOperations[request.op].run == nullptr) {
    return shard.complete_st(channel, request.tag, Status::unknown_operation);
  }
  const Entry& entry = kOperations[request.op];
  if ((request.flags & ~unsigned{entry.flags}) != 0)
    return shard.complete_st(channel, request.tag, Status::invalid_flags);
  if (request.priority > RDE_PRIORITY_BULK) return shard.complete_st(channel, request.tag, Status::invalid_request);
  if (channel.find(request.tag) != nullptr) return shard.complete_st(channel, request.tag, Status::duplicate_tag);
  if (shard.draining_st() && !entry.while_draining) return shard.complete_st(channel, request.tag, Status::draining);
  entry.run(shard, channel, request);
}

}  // namespace rde
