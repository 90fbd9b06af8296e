#include "common/names.h"

#include <doctest/doctest.h>

#include "rde_layout.h"

using namespace rde::tools;

TEST_CASE("numbers of a segment have the names of the layout page") {
  CHECK(op_name(RDE_OP_OBJECT_READ) == "OBJECT_READ");
  CHECK(status_name(0) == "ok");
  CHECK(status_name(201) == "object_not_found");
  CHECK(event_name(RDE_EVENT_PEER_DOWN) == "PEER_DOWN");
  CHECK(channel_state_name(RDE_CHANNEL_STATE_FAULTED) == "faulted");
}

TEST_CASE("a number without a name comes out as itself") {
  CHECK(op_name(255) == "op 255");
  CHECK(status_name(0xFFFFFFFF) == "status 4294967295");
  CHECK(status_name(65'535) == "status 65535");
}

TEST_CASE("flags are named one by one and unknown bits are kept") {
  CHECK(completion_flag_names(0).empty());
  CHECK(joined(completion_flag_names(0)) == "-");
  CHECK(joined(completion_flag_names(RDE_COMPLETION_FLAG_MORE | RDE_COMPLETION_FLAG_END)) == "MORE|END");
  CHECK(joined(completion_flag_names(0x8001)) == "MORE|0x8000");
}
