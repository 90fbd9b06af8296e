// Sessions on the rings.
#include "client/session.h"

#include <doctest/doctest.h>

#include <cstring>

#include "base/crc32c.h"
#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

struct Fixture {
  Rig rig;
  std::unique_ptr<Client> client = rig.attach();
  Fixture() {
    rig.on_shard([](FakeIo& io) { io.automatic = true; });
  }
  SessionCounts counts() {
    SessionCounts counts;
    rig.on_shard([&](Shard& shard, FakeIo&) { counts = shard.sessions_st().counts(); });
    return counts;
  }
  std::uint64_t live() {
    std::uint64_t live = 0;
    rig.on_shard([&](Shard& shard, FakeIo&) { live = shard.sessions_st().live(); });
    return live;
  }
};

rde_request close_request(std::uint64_t session, std::optional<std::uint32_t> crc = std::nullopt) {
  return close_session_request(session, {.failed = false, .bytes = 0, .crc = crc});
}

Reaped ask(Client& client, const rde_request& request) {
  REQUIRE(client.channel(0).submit(request));
  return next_completion(client);
}

rde_request read_in(std::uint64_t session, const Buffer& buffer, std::uint64_t needle = 1) {
  return in_session(read_request(needle, buffer), session);
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a session is opened, read in and closed with the checksum of what was read") {
  const auto opened = ask(*client, open_session_request());
  REQUIRE(opened.status == Status::ok);
  CHECK(opened.value != 0);
  CHECK(live() == 1);
  const auto buffer = client->allocate(100);
  std::uint32_t crc = 0;
  for (const std::uint64_t needle : {1, 2}) {
    const auto done = ask(*client, read_in(opened.value, *buffer, needle));
    REQUIRE(done.status == Status::ok);
    crc = crc32c_combine(crc, done.crc, done.bytes);
  }
  const auto closed = ask(*client, close_request(opened.value, crc));
  CHECK(closed.status == Status::ok);
  CHECK(closed.crc == crc);
  CHECK(closed.value == 200);
  CHECK(closed.flags == 0);
  CHECK(live() == 0);
  CHECK(counts().completed == 1);
  CHECK(counts().bytes == 200);
}

TEST_CASE_FIXTURE(Fixture, "another checksum than the engine's is answered crc_mismatch, with the engine's own") {
  const auto session = ask(*client, open_session_request()).value;
  const auto buffer = client->allocate(100);
  const auto done = ask(*client, read_in(session, *buffer));
  REQUIRE(done.status == Status::ok);
  const auto closed = ask(*client, close_request(session, 12345));
  CHECK(closed.status == Status::crc_mismatch);
  CHECK(closed.crc == done.crc);
  CHECK(ask(*client, close_request(session)).status == Status::stale_handle);
  CHECK(counts().failed == 1);
}

TEST_CASE_FIXTURE(Fixture, "a read that was not checked leaves the session without a checksum") {
  const auto session = ask(*client, open_session_request()).value;
  const auto buffer = client->allocate(100);
  auto read = read_in(session, *buffer);
  read.flags |= RDE_REQUEST_FLAG_SKIP_CRC;
  REQUIRE(ask(*client, read).status == Status::ok);
  const auto closed = ask(*client, close_request(session, 12345));
  CHECK(closed.status == Status::ok);
  CHECK(closed.flags == RDE_COMPLETION_FLAG_UNVERIFIED);
}

TEST_CASE_FIXTURE(Fixture, "a closed session serves nothing, and what never was one is not found") {
  const auto buffer = client->allocate(100);
  const auto session = ask(*client, open_session_request()).value;
  REQUIRE(ask(*client, close_session_request(session, {.failed = true})).status == Status::ok);
  CHECK(ask(*client, read_in(session, *buffer)).status == Status::stale_handle);
  auto stat = read_in(session, *buffer);
  stat.op = RDE_OP_OBJECT_STAT;
  CHECK(ask(*client, stat).status == Status::stale_handle);
  for (const std::uint64_t handle :
       {std::uint64_t{0}, std::uint64_t{77}, std::uint64_t{1} << 32 | 900, ~std::uint64_t{0}}) {
    CHECK(ask(*client, read_in(handle, *buffer)).status == Status::session_not_found);
    CHECK(ask(*client, close_request(handle)).status == Status::session_not_found);
  }
  CHECK(counts().failed == 1);
}

TEST_CASE_FIXTURE(Fixture, "an expired session says so to a read and to a close, and makes room") {
  const auto buffer = client->allocate(100);
  const auto session = ask(*client, open_session_request(kMillisecond)).value;
  REQUIRE(eventually([&] { return ask(*client, read_in(session, *buffer)).status == Status::session_expired; }));
  CHECK(ask(*client, close_request(session)).status == Status::session_expired);
  (void)ask(*client, open_session_request(kMillisecond));
  CHECK(eventually([&] { return live() == 0; }));
  CHECK(counts().expired == 2);
}

TEST_CASE_FIXTURE(Fixture, "the thousandth and first session is refused") {
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto opened = ask(*client, open_session_request());
    REQUIRE(opened.status == Status::ok);
    last = opened.value;
  }
  CHECK(ask(*client, open_session_request()).status == Status::too_many_sessions);
  CHECK(ask(*client, close_request(last)).status == Status::ok);
  CHECK(ask(*client, open_session_request()).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "the sessions of a client that goes are ended; those of another stay") {
  const auto other = rig.attach();
  const auto kept = ask(*other, open_session_request()).value;
  for (int i = 0; i < 900; ++i) REQUIRE(ask(*client, open_session_request()).status == Status::ok);
  client.reset();
  CHECK(eventually([&] { return live() == 1; }));
  CHECK(counts().ended == 900);
  CHECK(eventually([&] { return rig.counts().arenas == 1; }));
  CHECK(ask(*other, close_request(kept)).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a session with a peer reads from that peer") {
  rig.on_shard([](FakeIo& io) { io.peer_status = Status::stale_handle; });
  CHECK(ask(*client, open_session_request(0, 7)).status == Status::stale_handle);
  rig.on_shard([](FakeIo& io) { io.peer_status = Status::ok; });
  const auto session = ask(*client, open_session_request(0, 7)).value;
  const auto other = rig.attach();
  const auto buffer = other->allocate(100);
  CHECK(ask(*other, read_in(session, *buffer)).status == Status::permission_denied);

  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  const auto before = rig.counts().submitted.load();
  const auto tag = client->channel(0).submit(read_in(session, *client->allocate(100)));
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == before + 1; }));
  rig.on_shard([&](FakeIo& io) {
    CHECK(io.job(*tag)->peer == Handle::from(7));
    io.finish_all(Status::ok);
  });
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "what a read delivers after its session was closed is not counted") {
  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  const auto buffer = client->allocate(100);
  const auto session = ask(*client, open_session_request()).value;
  const auto tag = client->channel(0).submit(read_in(session, *buffer));
  REQUIRE(tag);
  const auto closed = ask(*client, close_request(session));
  CHECK(closed.status == Status::ok);
  CHECK(closed.value == 0);
  rig.on_shard([&](FakeIo& io) { io.finish(*tag, Status::ok, 100); });
  CHECK(next_completion(*client).bytes == 100);
  CHECK(counts().bytes == 0);
}

TEST_CASE_FIXTURE(Fixture, "every field that makes no sense is refused") {
  const auto session = ask(*client, open_session_request()).value;
  for (std::size_t at = 8; at < 24; ++at) {
    auto request = open_session_request();
    request.args[at] = 1;
    CHECK(ask(*client, request).status == Status::reserved_not_zero);
  }
  for (const std::size_t at : {14, 15, 16, 23}) {
    auto request = close_request(session);
    request.args[at] = 1;
    CHECK(ask(*client, request).status == Status::reserved_not_zero);
  }
  for (const std::uint8_t result : {std::uint8_t{0}, std::uint8_t{3}, std::uint8_t{255}}) {
    auto request = close_request(session);
    request.args[12] = result;
    CHECK(ask(*client, request).status == Status::invalid_request);
  }
  auto request = close_request(session);
  request.args[13] = 2;
  CHECK(ask(*client, request).status == Status::invalid_flags);
  CHECK(ask(*client, open_session_request(kLongestSession + 1)).status == Status::invalid_request);
  CHECK(live() == 1);
}

TEST_CASE_FIXTURE(Fixture, "CAPABILITIES tells the cap, how many are open, and the default time") {
  (void)ask(*client, open_session_request());
  const auto buffer = client->allocate(sizeof(rde_capabilities));
  rde_request request{};
  request.op = RDE_OP_CAPABILITIES;
  request.buffer_page = buffer->page;
  request.length = sizeof(rde_capabilities);
  REQUIRE(ask(*client, request).status == Status::ok);
  rde_capabilities answer;
  std::memcpy(&answer, buffer->bytes.data(), sizeof answer);
  CHECK(answer.max_sessions == 1000);
  CHECK(answer.active_sessions == 1);
  CHECK(answer.session_timeout_ns == 300 * kSecond);
}

TEST_CASE_FIXTURE(Fixture, "an engine that stops opens no session, and closes those that are open") {
  const auto session = ask(*client, open_session_request()).value;
  rig.on_shard([](FakeIo& io) { io.always_busy = true; });
  auto stopping = rig.stop_shard_elsewhere(2 * kSecond);
  REQUIRE(eventually([&] { return rig.counts().draining.load(); }));
  CHECK(ask(*client, open_session_request()).status == Status::draining);
  CHECK(ask(*client, close_request(session)).status == Status::ok);
  stopping.join();
}
