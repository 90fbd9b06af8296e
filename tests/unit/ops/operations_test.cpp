// The good path of every operation.
#include <doctest/doctest.h>

#include <cstring>

#include "attach/hello.h"
#include "base/crc32c.h"
#include "raw_channel.h"
#include "rig.h"
#include "version.h"

using namespace rde;
using namespace rde::test;

namespace {

rde_request request_of(std::uint8_t op, const Buffer& buffer = {}) {
  rde_request request{};
  request.op = op;
  request.buffer_page = buffer.page;
  request.length = static_cast<std::uint32_t>(buffer.bytes.size());
  return request;
}

Reaped ask(Client& client, const rde_request& request) {
  REQUIRE(client.channel(0).submit(request));
  return next_completion(client);
}

Buffer text_buffer(Client& client, std::string_view text) {
  const auto buffer = client.allocate(text.size());
  REQUIRE(buffer);
  std::memcpy(buffer->bytes.data(), text.data(), text.size());
  return *buffer;
}

}  // namespace

TEST_CASE("NOP completes") {
  Rig rig;
  const auto client = rig.attach();
  const auto done = ask(*client, request_of(RDE_OP_NOP));
  CHECK(done.status == Status::ok);
  CHECK(done.flags == 0);
  CHECK(done.bytes == 0);
  CHECK(done.value == 0);
}

TEST_CASE("PING answers the engine's clock, and the checksum of a buffer") {
  Rig rig;
  const auto client = rig.attach();
  const Nanoseconds before = now_ns();
  const auto bare = ask(*client, request_of(RDE_OP_PING));
  CHECK(bare.status == Status::ok);
  CHECK(bare.value >= before);
  CHECK(bare.value <= now_ns());
  CHECK(bare.crc == 0);

  const auto buffer = text_buffer(*client, "123456789");
  const auto loaded = ask(*client, request_of(RDE_OP_PING, buffer));
  CHECK(loaded.status == Status::ok);
  CHECK(loaded.crc == 0xE3069283);  // the check value of CRC-32C
}

TEST_CASE("CAPABILITIES describes the engine") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.shown = {"tcp", "eth0", true, 5, 6}; });
  const auto buffer = client->allocate(sizeof(rde_capabilities));
  const auto done = ask(*client, request_of(RDE_OP_CAPABILITIES, *buffer));
  CHECK(done.status == Status::ok);
  CHECK(done.bytes == sizeof(rde_capabilities));
  rde_capabilities answer;
  std::memcpy(&answer, buffer->bytes.data(), sizeof answer);
  CHECK(answer.abi_major == RDE_ABI_MAJOR);
  CHECK(answer.peers == 5);
  CHECK(answer.volumes == 6);
  CHECK(answer.real_rdma == 1);
  CHECK(get_text(answer.version) == kVersion);
  CHECK(get_text(answer.transport) == "tcp");
  CHECK(get_text(answer.device) == "eth0");
}

TEST_CASE("CONNECT opens a peer, a read may name it, and DISCONNECT closes it") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto address = text_buffer(*client, "127.0.0.1:18515");
  REQUIRE(client->channel(0).submit(request_of(RDE_OP_CONNECT, address)));
  rig.on_shard([](FakeIo& io) { io.open_waiting(Status::ok); });
  Reaped opened;
  if (!eventually([&] {
        rig.on_shard([](FakeIo& io) { io.open_waiting(Status::ok); });
        return client->channel(0).reap(opened);
      }))
    FAIL("no answer");
  CHECK(opened.status == Status::ok);
  CHECK(opened.value != 0);
  CHECK(rig.counts().peers == 1);

  const auto buffer = client->allocate(100);
  CHECK(ask(*client, read_request(1, *buffer, opened.value)).status == Status::ok);

  auto disconnect = request_of(RDE_OP_DISCONNECT);
  disconnect.handle = opened.value;
  CHECK(ask(*client, disconnect).status == Status::ok);
  CHECK(rig.counts().peers == 0);
}

TEST_CASE("CONNECT passes on why a peer could not be opened") {
  Rig rig;
  const auto client = rig.attach();
  const auto address = text_buffer(*client, "[::1]:18515");
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::fails_at_once; });
  CHECK(ask(*client, request_of(RDE_OP_CONNECT, address)).status == Status::peer_not_allowed);
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::fails_later; });
  CHECK(ask(*client, request_of(RDE_OP_CONNECT, address)).status == Status::peer_unreachable);
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
  CHECK(ask(*client, request_of(RDE_OP_CONNECT, address)).status == Status::ok);
}

TEST_CASE("CONNECT to a name that nobody knows says so") {
  Rig rig({.lookup = [](const HostPort&) { return Error{Status::invalid_address, "unknown"}; }});
  const auto client = rig.attach();
  const auto address = text_buffer(*client, "no-such-host:18515");
  CHECK(ask(*client, request_of(RDE_OP_CONNECT, address)).status == Status::invalid_address);
}

TEST_CASE("a name that takes long to look up holds up neither the caller's deadline nor other requests") {
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  Rig rig({.lookup = [answered](const HostPort& where) {
    answered.wait();
    return resolve({"127.0.0.1", where.port});
  }});
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
  auto request = request_of(RDE_OP_CONNECT, text_buffer(*client, "slow:18515"));
  request.deadline_ns = now_ns() + 50 * kMillisecond;
  const auto first = ask(*client, request);
  CHECK(first.status == Status::deadline_exceeded);
  CHECK(first.flags == RDE_COMPLETION_FLAG_MORE);
  CHECK(ask(*client, request_of(RDE_OP_NOP)).status == Status::ok);
  answer.set_value();
  const auto second = next_completion(*client);
  CHECK(second.flags == RDE_COMPLETION_FLAG_BUFFER_FREE);
  CHECK(rig.counts().peers == 0);  // opened for nobody, and closed again
}

TEST_CASE("names of one client that take long do not hold up those of another") {
  std::promise<void> answer;
  auto answered = answer.get_future().share();
  Rig rig({.lookup = [answered](const HostPort& where) {
    if (where.host.starts_with("slow")) answered.wait();
    return resolve({"127.0.0.1", where.port});
  }});
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
  const auto slow = rig.attach();
  const auto quick = rig.attach();
  const auto slow_name = request_of(RDE_OP_CONNECT, text_buffer(*slow, "slow:18515"));
  for (int i = 0; i < 32; ++i) REQUIRE(slow->channel(0).submit(slow_name));
  CHECK(ask(*slow, slow_name).status == Status::resource_exhausted);
  CHECK(ask(*quick, request_of(RDE_OP_CONNECT, text_buffer(*quick, "quick:18515"))).status == Status::ok);
  answer.set_value();
  for (int i = 0; i < 32; ++i) CHECK(next_completion(*slow).status == Status::ok);
}

TEST_CASE("a client that goes gives back the peers that it opened, as often as it opened them") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
  auto client = rig.attach();
  const auto address = text_buffer(*client, "127.0.0.1:18515");
  for (int i = 0; i < 3; ++i) CHECK(ask(*client, request_of(RDE_OP_CONNECT, address)).status == Status::ok);
  CHECK(rig.counts().peers == 3);
  client.reset();
  CHECK(eventually([&] { return rig.counts().peers == 0; }));
}

TEST_CASE("a client that goes while its CONNECT is under way leaves no peer") {
  Rig rig;
  auto client = rig.attach();
  REQUIRE(client->channel(0).submit(request_of(RDE_OP_CONNECT, text_buffer(*client, "127.0.0.1:18515"))));
  REQUIRE(eventually([&] { return rig.stats().requests == 1; }));
  client.reset();
  REQUIRE(eventually([&] { return rig.stats().clients == 0; }));
  rig.on_shard([](FakeIo& io) { io.open_waiting(Status::ok); });
  CHECK(rig.counts().peers == 0);
  CHECK(eventually([&] { return rig.counts().arenas == 0; }));
}

TEST_CASE("a client closes only peers that it opened itself") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
  const auto owner = rig.attach();
  const auto other = rig.attach();
  const auto opened = ask(*owner, request_of(RDE_OP_CONNECT, text_buffer(*owner, "127.0.0.1:18515")));
  auto disconnect = request_of(RDE_OP_DISCONNECT);
  disconnect.handle = opened.value;
  CHECK(ask(*other, disconnect).status == Status::permission_denied);
  CHECK(rig.counts().peers == 1);
  CHECK(ask(*owner, disconnect).status == Status::ok);
  CHECK(ask(*owner, disconnect).status == Status::invalid_handle);
}

TEST_CASE("OBJECT_STAT asks the source for a description, not for bytes") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(256);
  auto request = read_request(5, *buffer);
  request.op = RDE_OP_OBJECT_STAT;
  const auto tag = client->channel(0).submit(request);
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  rig.on_shard([&](FakeIo& io) {
    CHECK(io.job(*tag)->kind == ObjectJob::Kind::stat);
    io.finish(*tag, Status::ok, 64);
  });
  CHECK(next_completion(*client).bytes == 64);
}

TEST_CASE("a read of a volume that nobody has says volume_not_found") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.served_by = std::nullopt; });
  const auto buffer = client->allocate(100);
  CHECK(ask(*client, read_request(1, *buffer)).status == Status::volume_not_found);
}

TEST_CASE("where an arena could not be registered, local volumes are read and peers are not") {
  Rig rig;
  rig.on_shard([](FakeIo& io) {
    io.refuse_arenas = true;
    io.automatic = true;
  });
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  CHECK(ask(*client, read_request(1, *buffer)).status == Status::ok);
  rig.on_shard([](FakeIo& io) { io.served_by = Handle{1, 1}; });
  CHECK(ask(*client, read_request(1, *buffer)).status == Status::registration_failed);
}
