// The clients of the measures, against small servers inside the test.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

#include "bench/door_client.h"
#include "bench/nops.h"
#include "bench/ping_stream.h"
#include "bench/placement.h"
#include "bench/producers.h"
#include "test_engine.h"

using namespace rde;
using namespace rde::tools;

namespace {

// Answers the frames of one connection after another with Pongs whose timestamps count from `first`.
class Door {
 public:
  Door(std::string path, std::uint64_t first) : path_(std::move(path)), first_(first) {
    listener_ = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(static_cast<char*>(address.sun_path), path_.c_str(), sizeof address.sun_path - 1);
    REQUIRE(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(listener_.get(), 8) == 0);
    thread_ = std::jthread([this] { run(); });
  }
  ~Door() { shutdown(listener_.get(), SHUT_RDWR); }

 private:
  void run() {
    std::vector<std::jthread> connections;
    for (;;) {
      Descriptor socket(accept(listener_.get(), nullptr, nullptr));
      if (!socket) return;
      connections.emplace_back([this, socket = std::move(socket)] { serve(socket.get()); });
    }
  }

  void serve(int socket) const {
    std::uint64_t next = first_;
    for (;;) {
      std::uint32_t length = 0;
      std::array<char, 4096> body;
      if (recv(socket, &length, sizeof length, MSG_WAITALL) != sizeof length || length > body.size()) return;
      if (recv(socket, body.data(), length, MSG_WAITALL) != static_cast<ssize_t>(length)) return;
      msgpack::sbuffer out;
      msgpack::pack(out, std::make_tuple(std::string("Pong"), std::make_tuple(next++, 1, 2)));
      const auto size = static_cast<std::uint32_t>(out.size());
      if (send(socket, &size, sizeof size, MSG_NOSIGNAL) < 0 || send(socket, out.data(), size, MSG_NOSIGNAL) < 0)
        return;
    }
  }

  std::string path_;
  std::uint64_t first_;
  Descriptor listener_;
  std::jthread thread_;
};

}  // namespace

TEST_CASE("a client of the older socket takes its answers one at a time and many at once") {
  const test::TemporaryFolder folder;
  const Door door(folder.file("door"), 1);
  std::vector<std::unique_ptr<DoorClient>> clients;
  for (int i = 0; i < 2; ++i) {
    auto client = DoorClient::connect(folder.file("door"));
    REQUIRE(client);
    clients.push_back(std::move(*client));
  }
  const auto times = clients[0]->round_trips(5 * kMillisecond);
  REQUIRE(times);
  CHECK_FALSE(times->empty());
  const auto rate = DoorClient::rate(clients, 8, 20 * kMillisecond, nullptr);
  REQUIRE(rate);
  CHECK_FALSE(rate->samples.empty());
  CHECK(clients[1]->round_trips(kMillisecond));
}

TEST_CASE("an answer to another Ping is not taken") {
  const test::TemporaryFolder folder;
  const Door door(folder.file("door"), 7);
  auto client = DoorClient::connect(folder.file("door"));
  REQUIRE(client);
  const auto times = (*client)->round_trips(kMillisecond);
  REQUIRE_FALSE(times);
  CHECK(times.error().text.find("out of order") != std::string::npos);
  CHECK_FALSE(DoorClient::connect(folder.file("none")));
}

TEST_CASE("producers have all their answers when a rate was taken") {
  const test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("engine"));
  engine.start();
  auto producers = Producers::attach(engine.socket(), 3, 8);
  REQUIRE(producers);
  const auto rate = producers->rate(20 * kMillisecond, choose_placement().client);
  REQUIRE(rate);
  const auto answered = engine.answered();
  CHECK(static_cast<double>(answered) >= *rate * 0.02);
  CHECK(producers->rate(kMillisecond, choose_placement().client));
}

TEST_CASE("a refused NOP ends a rate, with one client and with many threads") {
  const test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("engine"));
  engine.nop_status = Status::draining;
  engine.start();
  auto nops = NopStream::attach(engine.socket(), 8);
  REQUIRE(nops);
  CHECK(nops->rate(kSecond).error().status == Status::draining);
  auto producers = Producers::attach(engine.socket(), 2, 8);
  REQUIRE(producers);
  CHECK(producers->rate(kSecond, choose_placement().client).error().status == Status::draining);
}

TEST_CASE("PINGs are answered with the CRC of the bytes that each of them carries") {
  const test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("engine"));
  engine.start();
  auto pings = PingStream::attach(engine.socket(), 8);
  REQUIRE(pings);
  const auto rate = pings->rate(5 * kMillisecond);
  REQUIRE_MESSAGE(rate, rate.error().text);
  CHECK_FALSE(rate->samples.empty());
}
