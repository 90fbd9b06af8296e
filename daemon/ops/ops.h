// One function for each operation of the rings. They validate a private copy of the request, and end it
// or keep it. Called on the shard's thread.
//
//   rde_request request;
//   if (channel.take(request)) run_operation(shard, channel, request);
#pragma once

#include "rde_layout.h"

namespace rde {

class EngineChannel;
class Shard;

// Checks what all operations have in common, then runs the one that the request names.
void run_operation(Shard& shard, EngineChannel& channel, const rde_request& request);

void op_nop(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_ping(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_capabilities(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_connect(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_disconnect(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_object_stat(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_object_read(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_cancel(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_session_open(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_session_close(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_expose(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_revoke(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_open(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_close(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_read(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_region_write(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_fetch_add(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_compare_swap(Shard& shard, EngineChannel& channel, const rde_request& request);
void op_flush(Shard& shard, EngineChannel& channel, const rde_request& request);

}  // namespace rde
