// Who may attach, what a refusal says, and what is left afterwards, through the real socket.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "attach/hello.h"
#include "helper.h"
#include "prim/socket.h"
#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

Descriptor connect_to(const Rig& rig) {
  auto socket = prim::connect_seqpacket(rig.socket(), kPatience);
  REQUIRE_MESSAGE(socket, socket.error().text);
  return std::move(*socket);
}

struct Answer {
  std::uint16_t type = 0;  // 0: the engine closed
  rde_attach_refused refused{};
  std::vector<Descriptor> descriptors;
};

Answer receive_from(const Descriptor& socket) {
  Answer answer;
  const auto readable = prim::wait_readable(socket.get(), static_cast<int>(kPatience / kMillisecond));
  REQUIRE(readable);
  REQUIRE(*readable);
  std::array<std::byte, 512> buffer;
  auto received = prim::receive(socket.get(), buffer);
  if (!received || received->bytes == 0) return answer;
  const auto message = std::span(buffer).first(received->bytes);
  answer.type = type_of(message);
  answer.descriptors = std::move(received->descriptors);
  if (answer.type == RDE_ATTACH_TYPE_REFUSED) copy_message(message, answer.refused);
  return answer;
}

Answer say(const Descriptor& socket, std::span<const std::byte> message) {
  REQUIRE(prim::send(socket.get(), message));
  return receive_from(socket);
}

Answer say_hello(const Rig& rig, const rde_attach_hello& hello) {
  const auto socket = connect_to(rig);
  return say(socket, bytes_of(hello));
}

std::string field_of(const Answer& answer) { return get_text(answer.refused.field); }

std::size_t attached(Rig& rig) {
  std::size_t count = 0;
  rig.on_control([&](AttachService& attach) { count = attach.attached(); });
  return count;
}

void check_serves(Rig& rig) {
  const auto client = rig.attach();
  REQUIRE(client->channel(0).submit(nop_request()));
  CHECK(next_completion(*client).status == Status::ok);
}

template <class T>
void refuse_values(const Rig& rig, T rde_attach_hello::*member, const char* field, std::initializer_list<T> values) {
  for (const T value : values) {
    auto hello = make_hello(RDE_ROLE_CLIENT, "test");
    hello.*member = value;
    const auto answer = say_hello(rig, hello);
    CAPTURE(field);
    CAPTURE(value);
    REQUIRE(answer.type == RDE_ATTACH_TYPE_REFUSED);
    CHECK(field_of(answer) == field);
    CHECK_FALSE(get_text(answer.refused.text).empty());
  }
}

}  // namespace

TEST_CASE("every field of a hello that does not fit is refused by its name, and the engine serves on") {
  Rig rig;
  using Hello = rde_attach_hello;
  const auto good = make_hello(RDE_ROLE_CLIENT, "test");
  refuse_values<std::uint32_t>(rig, &Hello::magic, "magic", {0, ~0U, good.magic - 1, good.magic + 1});
  refuse_values<std::uint16_t>(rig, &Hello::type, "type", {0, 0xFFFF, RDE_ATTACH_TYPE_WELCOME});
  refuse_values<std::uint16_t>(rig, &Hello::size, "size", {0, 127, 129, 0xFFFF});
  refuse_values<std::uint32_t>(rig, &Hello::endian_mark, "endian_mark", {0, ~0U, __builtin_bswap32(RDE_ENDIAN_MARK)});
  refuse_values<std::uint16_t>(rig, &Hello::abi_major, "abi_major",
                               {static_cast<std::uint16_t>(RDE_ABI_MAJOR - 1), RDE_ABI_MAJOR + 1, 0xFFFF});
  refuse_values<std::uint64_t>(rig, &Hello::layout_hash, "layout_hash", {0, ~0ULL, RDE_LAYOUT_HASH + 1});
  refuse_values<std::uint32_t>(rig, &Hello::header_size, "header_size", {0, 255, 257, ~0U});
  refuse_values<std::uint32_t>(rig, &Hello::request_size, "request_size", {0, 63, 65, ~0U});
  refuse_values<std::uint32_t>(rig, &Hello::completion_size, "completion_size", {0, 31, 33, ~0U});
  refuse_values<std::uint32_t>(rig, &Hello::page_size, "page_size", {0, 4095, 4097, ~0U});
  refuse_values<std::uint64_t>(rig, &Hello::required_features, "required_features", {1, ~0ULL});
  refuse_values<std::uint32_t>(rig, &Hello::role, "role", {0, 4, ~0U});
  refuse_values<std::uint32_t>(rig, &Hello::channels, "channels", {RDE_MAX_CHANNELS + 1, ~0U});
  refuse_values<std::uint32_t>(rig, &Hello::depth, "depth", {1, 3, 65, 8192, ~0U});
  refuse_values<std::uint64_t>(rig, &Hello::segment_size, "segment_size", {1, RDE_MIN_SEGMENT - 1, 1ULL << 60, ~0ULL});
  refuse_values<std::uint32_t>(rig, &Hello::reserved0, "reserved0", {1});
  refuse_values<std::uint64_t>(rig, &Hello::reserved1, "reserved1", {1});
  CHECK(attached(rig) == 0);
  CHECK(memory_files() == 0);
  check_serves(rig);
}

TEST_CASE("a hello cut at any byte, or too long, is refused or closed, and nothing is made for it") {
  Rig rig;
  const auto hello = make_hello(RDE_ROLE_CLIENT, "test");
  for (std::size_t length = 1; length < sizeof hello; ++length) {
    const auto socket = connect_to(rig);
    const auto answer = say(socket, bytes_of(hello).first(length));
    REQUIRE(answer.type == RDE_ATTACH_TYPE_REFUSED);
    CHECK(field_of(answer) == "size");
  }
  std::vector<std::byte> longer(600, std::byte{0});
  std::memcpy(longer.data(), &hello, sizeof hello);
  CHECK(say(connect_to(rig), longer).type == RDE_ATTACH_TYPE_REFUSED);
  CHECK(memory_files() == 0);
  check_serves(rig);
}

TEST_CASE("a segment too small for its channels is refused with what would be needed") {
  Rig rig;
  auto hello = make_hello(RDE_ROLE_CLIENT, "test");
  hello.channels = 4096;
  hello.depth = 4096;
  const auto answer = say_hello(rig, hello);
  REQUIRE(answer.type == RDE_ATTACH_TYPE_REFUSED);
  CHECK(field_of(answer) == "segment_size");
  CHECK(get_text(answer.refused.text).find("4096 channels") != std::string::npos);
}

TEST_CASE("descriptors that come with a hello are closed") {
  Rig rig;
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 50; ++i) {
    const auto socket = connect_to(rig);
    const std::array extra{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    auto hello = make_hello(RDE_ROLE_CLIENT, "test");
    hello.role = 9;
    REQUIRE(prim::send(socket.get(), bytes_of(hello), extra));
    CHECK(receive_from(socket).type == RDE_ATTACH_TYPE_REFUSED);
  }
  CHECK(eventually([&] { return open_descriptors() == before; }));
}

TEST_CASE("a client that closes at any step of the handshake leaves no segment behind") {
  Rig rig({.configure = [](Config& config) { config.max_segment_bytes = 4 * RDE_MIN_SEGMENT; }});
  const auto hello = make_hello(RDE_ROLE_CLIENT, "test");
  for (int i = 0; i < 40; ++i) {
    (void)connect_to(rig);
    {
      const auto socket = connect_to(rig);
      REQUIRE(prim::send(socket.get(), bytes_of(hello)));  // closes before the welcome can be sent
    }
    {
      const auto socket = connect_to(rig);
      CHECK(say(socket, bytes_of(hello)).type == RDE_ATTACH_TYPE_WELCOME);  // closes before it has mapped it
    }
    REQUIRE(eventually([&] { return attached(rig) == 0; }));
  }
  CHECK(eventually([] { return memory_files() == 0; }));
  check_serves(rig);
}

TEST_CASE("anything but MAPPED after the welcome ends the handshake") {
  Rig rig;
  const auto socket = connect_to(rig);
  const auto hello = make_hello(RDE_ROLE_CLIENT, "test");
  REQUIRE(say(socket, bytes_of(hello)).type == RDE_ATTACH_TYPE_WELCOME);
  CHECK(say(socket, bytes_of(hello)).type == RDE_ATTACH_TYPE_REFUSED);
  CHECK(eventually([&] { return attached(rig) == 0; }));
}

TEST_CASE("a message after the attach ends that client, and only that") {
  Rig rig;
  const auto other = rig.attach();
  auto client = attach_raw(rig.socket());
  REQUIRE(eventually([&] { return rig.stats().clients == 2; }));
  const char byte = 1;
  REQUIRE(::send(client.socket.get(), &byte, 1, MSG_NOSIGNAL) == 1);
  CHECK(eventually([&] { return rig.stats().clients == 1; }));
  CHECK_FALSE(other->engine_gone());
}

TEST_CASE("a handshake that is not ended in time is closed") {
  Rig rig;
  const auto silent = connect_to(rig);
  const auto welcomed = connect_to(rig);
  REQUIRE(say(welcomed, bytes_of(make_hello(RDE_ROLE_CLIENT, "test"))).type == RDE_ATTACH_TYPE_WELCOME);
  CHECK(receive_from(silent).type == 0);
  CHECK(receive_from(welcomed).type == 0);
  CHECK(eventually([&] { return attached(rig) == 0; }));
  CHECK(memory_files() == 0);
}

TEST_CASE("hundreds that connect and say nothing do not keep out one that attaches") {
  Rig rig;
  std::vector<Descriptor> silent;
  for (int i = 0; i < 400; ++i) silent.push_back(connect_to(rig));
  check_serves(rig);
}

TEST_CASE("clients beyond the limit are refused until one has gone") {
  Rig rig({.configure = [](Config& config) { config.max_clients = 2; }});
  auto first = rig.attach();
  const auto second = rig.attach();
  const auto third = rig.try_attach();
  REQUIRE_FALSE(third);
  CHECK(third.error().status == Status::resource_exhausted);
  CHECK(third.error().text.find("--max-clients") != std::string::npos);
  first.reset();
  CHECK(eventually([&] { return static_cast<bool>(rig.try_attach()); }));
}

TEST_CASE("all segments together keep to their limit, and what a client had is free again when it has gone") {
  Rig rig({.configure = [](Config& config) { config.max_segment_bytes = 3 * RDE_MIN_SEGMENT; }});
  auto first = rig.attach({.segment_size = 2 * RDE_MIN_SEGMENT});
  const auto second = rig.attach();
  const auto third = rig.try_attach();
  REQUIRE_FALSE(third);
  CHECK(third.error().status == Status::resource_exhausted);
  CHECK(third.error().text.find("--max-segment-bytes") != std::string::npos);
  first.reset();
  for (int i = 0; i < 20; ++i)
    CHECK(eventually([&] { return static_cast<bool>(rig.try_attach({.segment_size = 2 * RDE_MIN_SEGMENT})); }));
}

TEST_CASE("a dead client's segment counts until its last transfer has ended") {
  Rig rig({.configure = [](Config& config) { config.max_segment_bytes = RDE_MIN_SEGMENT; }});
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  {
    const auto client = rig.attach();
    const auto buffer = client->allocate(100);
    REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
    REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  }
  REQUIRE(eventually([&] { return rig.stats().clients == 0; }));
  CHECK_FALSE(rig.try_attach());
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  CHECK(eventually([&] { return static_cast<bool>(rig.try_attach()); }));
}

TEST_CASE("without a descriptor to spare the service waits, and serves again when there is one") {
  Rig rig;
  check_serves(rig);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  // A connection that the kernel has taken already; the service then cannot accept it.
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  few.rlim_cur = STDERR_FILENO + 1;  // not even the listener's spare descriptor can be used again
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, rig.socket().c_str());
  CHECK(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  usleep(50'000);
  rig.on_control([](AttachService&) {});
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(say(socket, bytes_of(make_hello(RDE_ROLE_CLIENT, "late"))).type == RDE_ATTACH_TYPE_WELCOME);
}

TEST_CASE("other users are refused unless their user or group is allowed, also after a reload" *
          doctest::skip(getuid() != 0)) {
  Rig rig({.configure = [](Config& config) {
    config.allow_uid = {4001};
    config.allow_gid = {5002};
  }});
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms(0755));
  const auto attach_as = [&](const std::string& user) {
    Helper helper;
    REQUIRE(helper.ask("user " + user) == "ok");
    return helper.ask("attach " + rig.socket());
  };
  CHECK(attach_as("4001 1").starts_with("attached "));
  CHECK(attach_as("4002 5002").starts_with("attached "));
  const auto refused = attach_as("4002 5001");
  CHECK(refused.find("uid 4002 (gid 5001) may not attach") != std::string::npos);
  CHECK(refused.find("--allow-uid") != std::string::npos);

  rig.on_control([](AttachService& attach) {
    Config config;
    config.allow_uid = {4002};
    attach.reload(config);
  });
  CHECK(attach_as("4002 5001").starts_with("attached "));
  CHECK(attach_as("4001 1").find("may not attach") != std::string::npos);
}

TEST_CASE("the mode of the socket keeps out who must not even connect" * doctest::skip(getuid() != 0)) {
  Rig rig({.configure = [](Config& config) { config.socket_mode = 0600; }});
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms(0755));
  Helper helper;
  REQUIRE(helper.ask("user 4001 4001") == "ok");
  CHECK(helper.ask("attach " + rig.socket()).find("Permission denied") != std::string::npos);
}

TEST_CASE("a user sees and monitors its own clients alone; root sees all" * doctest::skip(getuid() != 0)) {
  Rig rig({.configure = [](Config& config) { config.allow_uid = {4001, 4002}; }});
  std::filesystem::permissions(rig.folder().path(), std::filesystem::perms(0755));
  Helper owner;
  Helper other;
  REQUIRE(owner.ask("user 4001 4001") == "ok");
  REQUIRE(other.ask("user 4002 4002") == "ok");
  REQUIRE(owner.ask("attach " + rig.socket()) == "attached 1");
  CHECK(owner.ask("list " + rig.socket()) == "clients 1");
  CHECK(other.ask("list " + rig.socket()) == "clients 0");
  CHECK(owner.ask("monitor " + rig.socket() + " 1") == "mapped for reading");
  CHECK(other.ask("monitor " + rig.socket() + " 1").find("no client 1 that uid 4002 may look at") != std::string::npos);
  const auto all = list_clients(rig.socket());
  REQUIRE(all);
  CHECK(all->size() == 1);
  CHECK((*all)[0].uid == 4001);
  CHECK((*all)[0].name == "helper");
}

TEST_CASE("a monitor can map a segment for reading, and cannot come to write it by any way") {
  Rig rig;
  const auto client = rig.attach();
  Helper monitor;
  CHECK(monitor.ask("monitor " + rig.socket() + " 1") == "mapped for reading");
  CHECK(monitor.ask("monitor " + rig.socket() + " 2").starts_with("refused "));
}

TEST_CASE("a client that is still shaking hands can be neither listed nor monitored") {
  Rig rig;
  const auto socket = connect_to(rig);
  REQUIRE(say(socket, bytes_of(make_hello(RDE_ROLE_CLIENT, "test"))).type == RDE_ATTACH_TYPE_WELCOME);
  const auto list = list_clients(rig.socket());
  REQUIRE(list);
  CHECK(list->empty());
  CHECK_FALSE(monitor_client(rig.socket(), 1));
}

TEST_CASE("after refuse_new nobody attaches, and those who are attached stay") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_control([](AttachService& attach) { attach.refuse_new(); });
  CHECK_FALSE(rig.try_attach());
  REQUIRE(client->channel(0).submit(nop_request()));
  CHECK(next_completion(*client).status == Status::ok);
  CHECK_FALSE(std::filesystem::exists(rig.socket()));
}
