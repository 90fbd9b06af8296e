// UCX over TCP between processes: one is killed, stopped, or no UCX at all.
#include <arpa/inet.h>
#include <poll.h>

#include <csignal>

#include "child.h"
#include "pairs.h"
#include "support/scale.h"
#include "tcp_peer.h"
#include "transport/ucx/ucx_runtime.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr const char* kPeerProgram = "unit_tcp_peer";

// A gateway that reads from children.
struct Reader {
  Ends ends;
  Arena arena{kPeerArena};
  std::unique_ptr<UcxTransport> transport = tcp_transport(10 * kSecond);
  Memory* memory = *transport->add_memory(arena.bytes());
  std::uint64_t next_id = 1;

  ~Reader() { transport->remove_memory(memory); }
  void step() { transport->progress(now_ns()); }
  template <class Condition>
  void until(Condition condition) {
    step_until(*this, condition);
  }
  void pass(Nanoseconds duration) {
    for (const Nanoseconds end = now_ns() + duration; now_ns() < end;) step();
  }
  Link* connect(Child& child) {
    const auto where = *resolve(*parse_host_port(child.line()));
    const auto count = ends.up.size();
    Link* link = *transport->connect(where, ends);
    until([&] { return ends.up.size() == count + 1; });
    return link;
  }
  std::uint64_t ask(Link* link, std::size_t size) {
    const auto id = next_id++;
    const Ask ask{id, *link->post_landing(id, arena.bytes().first(size), *memory)};
    REQUIRE(link->send(std::as_bytes(std::span(&ask, 1))) == Status::ok);
    return id;
  }
  void check_good(Link* link, std::size_t size) {
    std::ranges::fill(arena.bytes().first(size), std::byte{0});
    const auto id = ask(link, size);
    until([&] { return ends.landed.contains(id); });
    CHECK(ends.landed[id].status == Status::ok);
    CHECK(std::ranges::equal(arena.bytes().first(size), pattern(size, kPeerSeed)));
  }
};

// Ports that this process listens on: the door, and those that UCX opens.
std::vector<SocketAddress> listening_addresses() {
  std::vector<SocketAddress> found;
  for (int fd = 3; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t length = sizeof(listens);
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    SocketAddress where;
    where.length = sizeof(where.storage);
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&where.storage), &where.length) != 0) continue;
    if (where.storage.ss_family == AF_INET) found.push_back(where);
  }
  return found;
}

int raw_connection(const SocketAddress& where) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&where.storage), where.length) == 0);
  return fd;
}

}  // namespace

TEST_CASE("another process gives bytes of every size") {
  Reader reader;
  Child child(kPeerProgram, "listen");
  Link* link = reader.connect(child);
  for (const std::size_t size : {1UL, 4096UL, 65'536UL, 100'000UL, kPeerArena}) reader.check_good(link, size);
}

TEST_CASE("a killed peer ends its link and landings once, and only those") {
  Reader reader;
  Child good(kPeerProgram, "listen");
  Link* survivor = reader.connect(good);
  std::size_t descriptors = 0;
  for (int round = 0; round < 12; ++round) {
    Child victim(kPeerProgram, "listen");
    Link* link = reader.connect(victim);
    const auto waiting =
        *link->post_landing(1'000'000 + static_cast<unsigned>(round), reader.arena.bytes().first(64), *reader.memory);
    CHECK(waiting.length == 64);
    const auto asked = reader.ask(link, kPeerArena);
    reader.pass(static_cast<Nanoseconds>(round) * 300 * kMicrosecond);
    victim.kill(SIGKILL);
    reader.until([&] { return reader.ends.down.size() == static_cast<std::size_t>(round) + 1; });
    CHECK(reader.ends.down.back().status == Status::peer_down);
    CHECK(reader.ends.landed.contains(asked));
    CHECK(reader.ends.landed[1'000'000 + static_cast<unsigned>(round)].status == Status::peer_down);
    reader.check_good(survivor, 1 << 20);
    if (round == 3) descriptors = open_descriptors();
  }
  CHECK(reader.ends.double_landings == 0);
  CHECK(open_descriptors() <= descriptors);
}

TEST_CASE("a stopped peer is not dead") {
  Reader reader;
  Child child(kPeerProgram, "listen");
  Link* link = reader.connect(child);
  child.stop();
  const auto id = reader.ask(link, 1 << 20);
  reader.pass(kSecond);
  CHECK_FALSE(reader.ends.landed.contains(id));
  CHECK(reader.ends.down.empty());
  child.kill(SIGCONT);
  reader.until([&] { return reader.ends.landed.contains(id); });
  CHECK(reader.ends.landed[id].status == Status::ok);
}

TEST_CASE("a link to a stopped peer can be closed, also amid a transfer") {
  for (const Nanoseconds after : {Nanoseconds{0}, 500 * kMicrosecond, 2 * kMillisecond}) {
    Reader reader;
    Child child(kPeerProgram, "listen");
    Link* link = reader.connect(child);
    const auto id = reader.ask(link, kPeerArena);
    reader.pass(after);
    child.stop();
    link->close({Status::network_timeout, "given up"});
    reader.until([&] { return reader.ends.down.size() == 1; });
    CHECK(reader.ends.down[0].text == "given up");
    CHECK(reader.ends.landed.contains(id));
    CHECK(reader.ends.double_landings == 0);
  }
}

TEST_CASE("two hundred links, one after the other, leave no descriptor behind") {
  Joined<TcpPair> joined;
  std::size_t descriptors = 0;
  for (std::size_t round = 0; round < 200; ++round) {
    Link* link = *joined.pair.gateway().connect(joined.where, joined.gateway);
    joined.until([&] { return joined.gateway.up.size() == 2 && joined.storage.up.size() == 2; });
    (round % 2 == 0 ? link : joined.storage.up[1])->close({Status::ok, "done"});
    joined.until([&] { return joined.gateway.down.size() == round + 1 && joined.storage.down.size() == round + 1; });
    if (round == 20) descriptors = open_descriptors();
  }
  CHECK(open_descriptors() <= descriptors + 2);
}

TEST_CASE("who does not speak UCX disturbs nobody") {
  Ends storage;
  auto transport = tcp_transport();
  const auto where = *transport->listen(*resolve({"127.0.0.1", 0}), storage);
  const auto until = [&](auto condition) {
    const Nanoseconds end = now_ns() + kWatchdog;
    while (!condition()) {
      REQUIRE(now_ns() < end);
      transport->progress(now_ns());
    }
  };
  std::vector<int> strangers;
  const auto ports = listening_addresses();
  CHECK(ports.size() >= 2);
  for (const SocketAddress& port : ports) {
    for (const std::size_t size : {0UL, 1UL, 7UL, 8UL, 16UL, 32UL, 33UL, 100UL, 4096UL, 100'000UL}) {
      for (unsigned seed = 0; seed < 4; ++seed) {
        const int fd = raw_connection(port);
        // Zeros, all ones, and noise.
        auto bytes = pattern(size, seed);
        if (seed < 2) std::ranges::fill(bytes, seed == 0 ? std::byte{0} : std::byte{0xFF});
        if (size != 0) CHECK(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) != 0);
        if (seed == 3) {
          ::close(fd);
        } else {
          strangers.push_back(fd);
        }
        for (int i = 0; i < 50; ++i) transport->progress(now_ns());
      }
    }
  }
  Ends gateway;
  auto other = tcp_transport();
  REQUIRE(other->connect(where, gateway));
  until([&] {
    other->progress(now_ns());
    return gateway.up.size() == 1 && storage.up.size() == 1;
  });
  gateway.up[0]->send(bytes_of("still here"));
  until([&] {
    other->progress(now_ns());
    return storage.messages.size() == 1;
  });
  CHECK(storage.up.size() == 1);
  for (const int fd : strangers) ::close(fd);
  for (int i = 0; i < 1000; ++i) transport->progress(now_ns());
  CHECK(storage.down.empty());
}

TEST_CASE("a listener that never answers costs the connect timeout") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto where = *resolve({"127.0.0.1", 0});
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&where.storage), where.length) == 0);
  REQUIRE(::listen(listener, 8) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&where.storage), &where.length) == 0);
  Reader reader;
  reader.transport->remove_memory(reader.memory);
  reader.transport = tcp_transport(kSecond);
  reader.memory = *reader.transport->add_memory(reader.arena.bytes());
  const Nanoseconds begin = now_ns();
  REQUIRE(reader.transport->connect(where, reader.ends));
  CHECK(reader.transport->next_timer() <= now_ns() + kSecond);
  reader.until([&] { return reader.ends.down.size() == 1; });
  CHECK(reader.ends.down[0].status == Status::peer_unreachable);
  CHECK(now_ns() - begin >= kSecond);
  ::close(listener);
}

TEST_CASE("a knock is taken whole, in one piece or byte by byte, and nothing else is") {
  Ends storage;
  auto transport = tcp_transport();
  const auto where = *transport->listen(*resolve({"127.0.0.1", 0}), storage);
  UcxKnock knock{.magic = kUcxKnockMagic, .version = kUcxWireVersion, .reserved = 0, .ucx_version = {}};
  // How many bytes come back; -1: hung up, which for a good knock is not before the door's patience ends.
  const auto knock_with = [&](std::span<const std::byte> bytes, bool byte_by_byte, UcxAnswer& answer) {
    const int fd = raw_connection(where);
    for (std::size_t at = 0; at < bytes.size(); at += byte_by_byte ? 1 : bytes.size()) {
      ::send(fd, bytes.data() + at, byte_by_byte ? 1 : bytes.size(), MSG_NOSIGNAL);
      transport->progress(now_ns());
    }
    ssize_t count = -1;
    for (const Nanoseconds end = now_ns() + kWatchdog; count < 0 && now_ns() < end;) {
      transport->progress(now_ns());
      count = ::recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
      if (count < 0 && errno != EAGAIN) count = 0;
    }
    ::close(fd);
    return count;
  };
  const auto bytes = std::as_bytes(std::span(&knock, 1));
  UcxAnswer answer{};
  for (const bool byte_by_byte : {false, true}) {
    CHECK(knock_with(bytes, byte_by_byte, answer) == sizeof(answer));
    CHECK(answer.magic == kUcxKnockMagic);
    CHECK(answer.port != 0);
    CHECK(ucx_version_of(answer.ucx_version) == ucx_runtime_version());
  }
  for (std::size_t at = 0; at < sizeof(knock.magic); ++at) {
    std::vector<std::byte> wrong(bytes.begin(), bytes.end());
    wrong[at] ^= std::byte{1};
    CHECK(knock_with(wrong, false, answer) == 0);
  }
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back({});
  knock_with(longer, false, answer);  // answered or hung up on: the byte too many may come later
  for (const std::uint32_t version : {0U, kUcxWireVersion + 1, ~0U}) {
    knock.version = version;
    CHECK(knock_with(bytes, false, answer) == sizeof(answer));
    CHECK(answer.status == static_cast<std::uint16_t>(Status::peer_version));
    CHECK(answer.version == kUcxWireVersion);
  }
}

TEST_CASE("UCX itself listens to the world only while somebody is expected") {
  Ends storage;
  auto transport = tcp_transport();
  const auto before = listening_addresses().size();
  const auto where = *transport->listen(*resolve({"127.0.0.1", 0}), storage);
  CHECK(listening_addresses().size() == before + 1);
  Ends gateway;
  auto other = tcp_transport();
  const auto with_two = listening_addresses().size();
  Link* link = *other->connect(where, gateway);
  const auto step = [&] { transport->progress(now_ns()), other->progress(now_ns()); };
  const Nanoseconds end = now_ns() + kWatchdog;
  while ((gateway.up.empty() || storage.up.empty()) && now_ns() < end) step();
  REQUIRE(gateway.up.size() == 1);
  while (listening_addresses().size() != with_two && now_ns() < end) step();
  CHECK(listening_addresses().size() == with_two);
  link->close({Status::ok, "done"});
  while (gateway.down.empty() && now_ns() < end) step();
}

TEST_CASE("connecting to something else than an engine says so") {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto where = *resolve({"127.0.0.1", 0});
  REQUIRE(::bind(listener, reinterpret_cast<const sockaddr*>(&where.storage), where.length) == 0);
  REQUIRE(::listen(listener, 8) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&where.storage), &where.length) == 0);
  for (const std::string_view banner : {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "x", ""}) {
    CAPTURE(banner);
    Reader reader;
    REQUIRE(reader.transport->connect(where, reader.ends));
    const int visitor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (!banner.empty()) ::send(visitor, banner.data(), banner.size(), MSG_NOSIGNAL);
    ::shutdown(visitor, SHUT_WR);
    reader.until([&] { return reader.ends.down.size() == 1; });
    CHECK(reader.ends.down[0].status == (banner.size() > 1 ? Status::protocol_error : Status::peer_unreachable));
    CHECK(reader.ends.down[0].text.find("rdma-engine") != std::string::npos);
    ::close(visitor);
  }
  ::close(listener);
}

TEST_CASE("a program that is started inherits no descriptor of UCX") {
  Joined<TcpPair> joined;
  Child child(kPeerProgram, "descriptors");
  CHECK(child.line() == "0");
}

TEST_CASE("the five signals that UCX takes when it is loaded can be taken back" * doctest::skip(kSanitized)) {
  // A sanitizer has handlers of its own for some of them.
  Child child(kPeerProgram, "signals");
  CHECK(child.line() == "default");
}

TEST_CASE("the event descriptor wakes who sleeps on news") {
  Joined<TcpPair> joined;
  Transport& sleeper = joined.pair.storage();
  while (!sleeper.arm()) joined.pair.step();
  joined.to_storage->send(bytes_of("wake up"));
  for (int i = 0; i < 100; ++i) joined.pair.gateway().progress(now_ns());
  pollfd poll{sleeper.event_descriptor(), POLLIN, 0};
  CHECK(::poll(&poll, 1, 20'000) == 1);
  joined.until([&] { return joined.storage.messages.size() == 1; });
}

TEST_CASE("the interface of an address is found, and an address without one is named") {
  CHECK(*interface_for(*resolve({"127.0.0.1", 0})) == "lo");
  CHECK(*interface_for(*resolve({"127.5.6.7", 1})) == "lo");
  const auto wildcard = interface_for(*resolve({"0.0.0.0", 18515}));
  CHECK(wildcard.error().status == Status::invalid_address);
  CHECK(wildcard.error().text.find("0.0.0.0:18515") != std::string::npos);
}

TEST_CASE("a device that does not exist is named") {
  const auto transport = UcxTransport::create({.devices = {"nosuch0"}});
  REQUIRE_FALSE(transport);
  CHECK(transport.error().text.find("nosuch0") != std::string::npos);
}
