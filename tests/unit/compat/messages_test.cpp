// Messages against frames that were recorded from the older client.
#include "compat/messages.h"

#include <doctest/doctest.h>

#include <random>

#include "compat/error_names.h"
#include "recorded.h"

using namespace rde;
using namespace rde::compat;
using namespace rde::test;

namespace {

template <class Message>
Message decoded(const std::string& note) {
  const auto frame = recorded(note).request;
  auto request = decode(std::span(frame).subspan(4));
  if (const auto* wrong = std::get_if<ErrorReply>(&request)) FAIL(wrong->message);
  return std::get<Message>(request);
}

ErrorReply refused(const std::string& hex) {
  const auto payload = from_hex(hex);
  const auto request = decode(payload);
  REQUIRE(std::holds_alternative<ErrorReply>(request));
  return std::get<ErrorReply>(request);
}

bool says(const ErrorReply& error, const char* words) { return error.message.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("each recorded request is understood") {
  CHECK(decoded<Ping>("ping").timestamp_ns == 0x18ECB5CE10F64B13);
  CHECK(decoded<Ping>("ping without client id").timestamp_ns == 0x18ECB5CE10F82EF4);
  (void)decoded<GetCapabilities>("capabilities");
  (void)decoded<GetCapabilities>("capabilities without client id");
  const auto start = decoded<StartRead>("start read");
  CHECK(start.volume_id == 1);
  CHECK(start.needle_id == 0x01637037);
  CHECK(start.cookie == 0xD6D6D6D6);
  CHECK(start.offset == 0);
  CHECK(start.size == 4097);
  CHECK(start.timeout_secs == 30);
  const auto largest = decoded<StartRead>("start read, largest values, no token");
  CHECK(largest.volume_id == 0xFFFFFFFF);
  CHECK(largest.needle_id == ~std::uint64_t{0});
  CHECK(largest.offset == std::uint64_t{1} << 40);
  CHECK(largest.remote_addr == ~std::uint64_t{0});
  const auto complete = decoded<CompleteRead>("complete read");
  CHECK(complete.session_id == "0f0e0d0c-0b0a-0908-0706-050403020100");
  CHECK(complete.success);
  CHECK(complete.bytes_transferred == 4097);
  CHECK(complete.client_crc == 0xDEADBEEF);
  CHECK_FALSE(decoded<CompleteRead>("complete read, failed, no crc").client_crc);
}

TEST_CASE("replies are encoded byte for byte as the older client decoded them") {
  CHECK(encode(Pong{1700000000000000000, 1700000000000001000, 1000}) == recorded("ping").reply);
  CHECK(encode(Pong{1, 2, 1}) == recorded("ping without client id").reply);
  CHECK(encode(GetCapabilitiesResponse{"rxe0", 5555, 1 << 30, 1000, 3, "fe80::1", 7, {"none", "psk"}, "1.0.0", true}) ==
        recorded("capabilities").reply);
  CHECK(encode(StartReadResponse{"0f0e0d0c-0b0a-0908-0706-050403020100", 0x7F0000000000, 77, 4097, 0x01020304,
                                 1700000300000000000}) == recorded("start read").reply);
  CHECK(encode(CompleteReadResponse{true, 0x01020304, std::nullopt}) == recorded("complete read").reply);
  CHECK(encode(CompleteReadResponse{false, std::nullopt, "CRC mismatch"}) ==
        recorded("complete read, failed, no crc").reply);
  CHECK(encode(ErrorReply{"SessionExpired", "session s expired", "session"}) ==
        recorded("error reply of 3 fields").reply);
}

TEST_CASE("what is not one MessagePack value is told apart from a message that is wrong") {
  CHECK(refused("c1").code == "SerializationError");            // never used
  CHECK(refused("82a474797065").code == "SerializationError");  // cut off
  CHECK(refused("c0c0").code == "SerializationError");          // two values
  CHECK(refused("ddffffffff").code == "SerializationError");    // four billion entries promised
  CHECK(refused("dfffffffff").code == "SerializationError");
  CHECK(refused("dbffffffff").code == "SerializationError");
  CHECK(refused("9191919191919191919191919191c0").code == "SerializationError");  // too deep
  CHECK(refused("c0").code == "InvalidRequest");
  CHECK(refused("90").category == "request");
}

TEST_CASE("a field that is wrong is named with its value and what would be right") {
  // {"type": "Ping", "data": {"timestamp_ns": X}} with X = -1, 1.5, "a", nil, and nothing.
  const std::string head = "82a474797065a450696e67a464617461";
  CHECK(says(refused(head + "81ac74696d657374616d705f6e73ff"), "timestamp_ns = -1: want an integer from 0 to 184467"));
  CHECK(says(refused(head + "81ac74696d657374616d705f6e73ca3fc00000"), "timestamp_ns = a float: want"));
  CHECK(says(refused(head + "81ac74696d657374616d705f6e73a161"), "timestamp_ns = 'a': want"));
  CHECK(says(refused(head + "81ac74696d657374616d705f6e73c0"), "timestamp_ns: missing"));
  CHECK(says(refused(head + "80"), "timestamp_ns: missing"));
  CHECK(says(refused(head + "01"), "data = 1: want a map"));
  CHECK(says(refused("82a474797065a450756e67a46461746180"), "type = 'Pung': want StartRead"));
  CHECK(says(refused("81a474797065a450696e67"), "data: missing"));
  CHECK(says(refused("80"), "type: missing"));
  // volume_id of 33 bits
  CHECK(says(refused("82a474797065a9537461727452656164a46461746181a9766f6c756d655f6964cf0000000100000000"),
             "volume_id = 4294967296: want an integer from 0 to 4294967295"));
}

TEST_CASE("no mutation of a recorded request does any harm") {
  std::mt19937 random(7);
  for (const auto& row : recorded_frames()) {
    for (int i = 0; i < 2'000; ++i) {
      auto payload = std::vector(row.request.begin() + 4, row.request.end());
      for (int k = 0; k < 3; ++k) payload[random() % payload.size()] = static_cast<std::byte>(random());
      payload.resize(1 + random() % payload.size());
      (void)decode(payload);
    }
  }
}

TEST_CASE("every status has a name that the older client knows") {
#define RDE_STATUS_ROW(name, number, category, retry, meaning) Status{number},
  for (const Status status : {RDE_STATUS_TABLE(RDE_STATUS_ROW)}) {
    const auto reply = error_reply(status);
    CHECK_FALSE(reply.code.empty());
    CHECK_FALSE(reply.category.empty());
    CHECK(reply.message.starts_with(name_of(status)));
  }
#undef RDE_STATUS_ROW
  CHECK(error_reply(Status::session_expired).code == "SessionExpired");
  CHECK(error_reply(Status::too_many_sessions).category == "session");
  CHECK(error_reply(Status::peer_down).code == "NetworkTimeout");
  CHECK(error_reply(Status::object_corrupt).code == "Io");
}
