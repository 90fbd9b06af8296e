// The older socket in front of a shard whose storage the test plays.
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <set>

#include "base/crc32c.h"
#include "compat/ipc_door.h"
#include "recorded.h"
#include "rig.h"

using namespace rde;
using namespace rde::compat;
using namespace rde::test;

namespace {

class OlderClient {
 public:
  explicit OlderClient(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    REQUIRE(connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  void send(std::span<const std::byte> bytes) const {
    REQUIRE(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  // The payload of the next reply; empty once the door has closed.
  [[nodiscard]] std::string receive() const {
    std::uint32_t length = 0;
    if (!read(&length, sizeof length)) return "";
    REQUIRE(length < 4096);
    std::string payload(length, '\0');
    REQUIRE(read(payload.data(), length));
    return payload;
  }
  [[nodiscard]] std::string ask(std::span<const std::byte> frame) const {
    send(frame);
    return receive();
  }
  void shut_writing() const { shutdown(socket_.get(), SHUT_WR); }

 private:
  bool read(void* to, std::size_t bytes) const {
    for (std::size_t done = 0; done < bytes;) {
      pollfd entry{socket_.get(), POLLIN, 0};
      REQUIRE(poll(&entry, 1, static_cast<int>(kPatience / kMillisecond)) == 1);
      const auto count = recv(socket_.get(), static_cast<char*>(to) + done, bytes - done, 0);
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }
  Descriptor socket_;
};

struct Fixture {
  Rig rig;
  std::shared_ptr<SessionTable> sessions = std::make_shared<SessionTable>(SessionOptions{.most = 2, .slabs = 1});
  Config config;
  std::unique_ptr<IpcDoor> door;

  Fixture() {
    config.socket = rig.socket();
    config.ipc_socket = rig.folder().file("ipc.sock");
    config.ipc_max_connections = 8;
    auto opened = IpcDoor::open(config, {.sessions = sessions, .epoch = 9, .device = "none"});
    REQUIRE_MESSAGE(opened, opened.error().text);
    door = std::move(*opened);
    rig.on_shard([](FakeIo& io) { io.automatic = true; });
  }
  [[nodiscard]] OlderClient connect() const { return OlderClient(config.ipc_socket); }
};

bool has(const std::string& payload, const std::string& words) { return payload.find(words) != std::string::npos; }

// The session's name in a StartReadResponse.
std::string session_in(const std::string& payload) {
  const auto at = payload.find("\xD9\x24");
  REQUIRE(at != std::string::npos);
  return payload.substr(at + 2, 36);
}

// The recorded CompleteRead with another session in it.
std::vector<std::byte> completion_of(const std::string& session) {
  auto frame = recorded("complete read").request;
  const std::string_view older = "0f0e0d0c-0b0a-0908-0706-050403020100";
  auto* bytes = reinterpret_cast<char*>(frame.data());
  const auto at = std::string_view(bytes, frame.size()).find(older);
  REQUIRE(at != std::string_view::npos);
  std::memcpy(bytes + at, session.data(), session.size());
  return frame;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "every recorded request is answered, in order, on one connection") {
  const auto client = connect();
  CHECK(has(client.ask(recorded("ping").request), "Pong"));
  CHECK(has(client.ask(recorded("capabilities").request), "GetCapabilitiesResponse"));
  const auto started = client.ask(recorded("start read").request);
  CHECK(has(started, "StartReadResponse"));
  CHECK(sessions->live() == 1);
  // The recorded checksum is not that of these bytes.
  const auto completed = client.ask(completion_of(session_in(started)));
  CHECK(has(completed, "CompleteReadResponse"));
  CHECK(has(completed, "client_crc = 3735928559"));
  CHECK(sessions->counts().failed == 1);
  CHECK(has(client.ask(completion_of(session_in(started))), "SessionNotFound"));
  CHECK(sessions->counts().bytes == 4097);
}

TEST_CASE_FIXTURE(Fixture, "requests that come at once are answered one after the other") {
  const auto client = connect();
  std::vector<std::byte> many;
  const auto ping = recorded("ping").request;
  const auto start = recorded("start read").request;
  for (int i = 0; i < 300; ++i) many.insert(many.end(), ping.begin(), ping.end());
  many.insert(many.end(), start.begin(), start.end());
  many.insert(many.end(), ping.begin(), ping.end());
  client.send(many);
  for (int i = 0; i < 300; ++i) REQUIRE(has(client.receive(), "Pong"));
  CHECK(has(client.receive(), "StartReadResponse"));
  CHECK(has(client.receive(), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "a request is understood byte by byte") {
  const auto client = connect();
  for (const auto byte : recorded("ping").request) client.send(std::span(&byte, 1));
  CHECK(has(client.receive(), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "an answer still comes to a client that has said all it wants") {
  const auto client = connect();
  client.send(recorded("start read").request);
  client.shut_writing();
  CHECK(has(client.receive(), "StartReadResponse"));
  CHECK(client.receive().empty());
  CHECK(eventually([&] { return sessions->live() == 0; }));
}

TEST_CASE_FIXTURE(Fixture, "a length that cannot be is answered, and the connection closed") {
  for (const auto* hex : {"00000000", "01001000", "ffffffff"}) {
    const auto client = connect();
    const auto reply = client.ask(from_hex(hex));
    CHECK(has(reply, "IpcError"));
    CHECK(has(reply, "frame length = "));
    CHECK(client.receive().empty());
  }
  CHECK(has(connect().ask(recorded("ping").request), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "garbage in a good frame is answered, and the connection goes on") {
  const auto client = connect();
  CHECK(has(client.ask(from_hex("03000000c1c1c1")), "SerializationError"));
  CHECK(has(client.ask(recorded("ping").request), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "a session too many is refused, and those of a connection that closes are ended") {
  const auto kept = connect();
  {
    const auto lost = connect();
    CHECK(has(kept.ask(recorded("start read").request), "StartReadResponse"));
    CHECK(has(lost.ask(recorded("start read").request), "StartReadResponse"));
    const auto refused = kept.ask(recorded("start read").request);
    CHECK(has(refused, "TooManySessions"));
    CHECK(has(refused, "2 of 2 sessions are open"));
  }
  CHECK(eventually([&] { return sessions->live() == 1; }));
  CHECK(sessions->counts().ended == 1);
}

TEST_CASE_FIXTURE(Fixture, "a read that fails gives its session back, and says why") {
  rig.on_shard([](FakeIo& io) { io.served_by = std::nullopt; });
  const auto client = connect();
  const auto reply = client.ask(recorded("start read").request);
  CHECK(has(reply, "Io"));
  CHECK(has(reply, "volume_id = 1, needle_id = 23294007: volume_not_found"));
  CHECK(sessions->live() == 0);
  CHECK(sessions->counts().failed == 1);
}

TEST_CASE_FIXTURE(Fixture, "a connection too many is told so; who goes makes room") {
  std::vector<OlderClient> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(connect());
    CHECK(has(clients.back().ask(recorded("ping").request), "Pong"));
  }
  const auto refused = connect();
  CHECK(has(refused.receive(), "raise --ipc-max-connections"));
  CHECK(refused.receive().empty());
  clients.pop_back();
  REQUIRE(eventually([&] { return door->stats().connections == 7; }));
  CHECK(has(connect().ask(recorded("ping").request), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "who comes when no descriptor is left is turned away, and served once there are some") {
  const auto ping = recorded("ping").request;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int lowest = dup(0);
  // The client takes the place of `lowest`; none is left for the other end.
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(lowest) + 1;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  close(lowest);
  const auto client = connect();
  CHECK(client.receive().empty());
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(door->stats().accepted == 0);
  CHECK(has(connect().ask(ping), "Pong"));
}

TEST_CASE_FIXTURE(Fixture, "while one client's read hangs, and another sends half a frame, a third is served") {
  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  const auto hangs = connect();
  hangs.send(recorded("start read").request);
  const auto half = connect();
  const auto start = recorded("start read").request;
  half.send(std::span<const std::byte>(start).first(20));
  const auto third = connect();
  for (int i = 0; i < 100; ++i) REQUIRE(has(third.ask(recorded("ping").request), "Pong"));
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::io_error); });
  CHECK(has(hangs.receive(), "io_error"));
}

TEST_CASE_FIXTURE(Fixture, "reads of clients that have gone are not begun, and hold up nobody") {
  CHECK(has(connect().ask(recorded("start read").request), "StartReadResponse"));
  const auto of_one_read = rig.counts().submitted.load();
  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  constexpr int kAtOnce = 16;
  for (int i = 0; i < kAtOnce + 4; ++i) {
    const auto requests = door->stats().requests.load();
    const auto gone = connect();
    gone.send(recorded("start read").request);
    REQUIRE(eventually([&] { return door->stats().requests == requests + 1; }));
  }
  REQUIRE(eventually([&] { return door->stats().connections == 0 && sessions->live() == 0; }));
  REQUIRE(eventually([&] { return rig.counts().submitted == of_one_read + kAtOnce; }));
  rig.on_shard([](FakeIo& io) {
    io.automatic = true;
    io.finish_all(Status::ok);
  });
  CHECK(has(connect().ask(recorded("start read").request), "StartReadResponse"));
  CHECK(rig.counts().submitted == 2 * of_one_read + kAtOnce);
}

TEST_CASE_FIXTURE(Fixture, "more long reads than there are places for take turns") {
  constexpr std::uint64_t kReads = 20, kSize = std::uint64_t{64} << 20;
  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  ObjectReader reader(rig.socket());
  std::uint64_t ended = 0;
  for (std::uint64_t i = 0; i < kReads; ++i) {
    reader.read(i, {.id = {1, 100 + i, 0}, .size = kSize, .deadline = now_ns() + kPatience},
                [&](const ReadAnswer&) { ++ended; });
  }
  std::set<std::uint64_t> seen;
  const auto answer_pieces = [&](FakeIo& io) {
    for (const auto needle : io.finish_pieces(kSize)) seen.insert(needle);
  };
  CHECK(eventually([&] {
    reader.progress();
    rig.on_shard(answer_pieces);
    return seen.size() == kReads;
  }));
  CHECK(ended == 0);
}

TEST_CASE_FIXTURE(Fixture, "stopping closes connections, ends sessions, and takes the socket's file away") {
  const auto client = connect();
  CHECK(has(client.ask(recorded("start read").request), "StartReadResponse"));
  door->stop();
  CHECK(client.receive().empty());
  CHECK(sessions->live() == 0);
  door.reset();
  CHECK_FALSE(std::filesystem::exists(config.ipc_socket));
}

TEST_CASE_FIXTURE(Fixture, "a path that another holds is refused with the option that names it") {
  const auto again = IpcDoor::open(config, {.sessions = sessions});
  REQUIRE_FALSE(again);
  CHECK(has(again.error().text, "--ipc-socket"));
}
