#include "attach/server.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "attach/client.h"
#include "hello_fields.h"
#include "support/attach_server.h"
#include "support/leaks.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

// One connection; the test plays the client with plain messages.
struct Dialogue {
  explicit Dialogue(OpenHost& host) {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    client = Descriptor(fds[0]);
    engine = std::make_unique<AttachConnection>(Descriptor(fds[1]), host);
  }

  // What the engine made of a message: whether the connection goes on.
  bool say(std::span<const std::byte> message, std::span<const int> descriptors = {}) {
    REQUIRE(prim::send(client.get(), message, descriptors));
    return engine->on_readable();
  }
  bool say_hello() { return say(bytes_of(make_hello(RDE_ROLE_CLIENT, "test"))); }
  bool say_mapped() { return say(bytes_of(make_message<rde_attach_signal>(RDE_ATTACH_TYPE_MAPPED))); }

  prim::Received answer() {
    auto received = prim::receive(client.get(), buffer);
    if (!received) return {};
    return std::move(*received);
  }
  std::uint16_t answer_type() {
    const auto received = answer();
    return type_of(std::span(buffer).first(received.bytes));
  }
  // The field that a refusal names; empty when the answer is none.
  std::string refused_field() {
    const auto received = answer();
    rde_attach_refused refused{};
    const auto message = std::span(buffer).first(received.bytes);
    if (type_of(message) != RDE_ATTACH_TYPE_REFUSED || !copy_message(message, refused)) return "";
    return get_text(refused.field);
  }

  Descriptor client;
  std::unique_ptr<AttachConnection> engine;
  std::vector<std::byte> buffer = std::vector<std::byte>(1024);
};

}  // namespace

TEST_CASE("a client is welcomed with its descriptors, then attached") {
  OpenHost host(3);
  Dialogue dialogue(host);
  REQUIRE(dialogue.say_hello());
  CHECK_FALSE(dialogue.engine->is_attached());
  const auto received = dialogue.answer();
  rde_attach_welcome welcome{};
  REQUIRE(copy_message(std::span<const std::byte>(dialogue.buffer).first(received.bytes), welcome));
  CHECK(welcome.type == RDE_ATTACH_TYPE_WELCOME);
  CHECK(welcome.descriptors == 5);
  CHECK(received.descriptors.size() == 5);
  CHECK(welcome.total_size == RDE_MIN_SEGMENT);
  CHECK(get_text(welcome.version) == "1.2.3");
  for (const auto& descriptor : received.descriptors) CHECK((fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
  REQUIRE(dialogue.say_mapped());
  CHECK(dialogue.answer_type() == RDE_ATTACH_TYPE_ATTACHED);
  CHECK(dialogue.engine->is_attached());
  CHECK(dialogue.engine->client_number() == 1);
  CHECK(host.clients.size() == 1);
}

TEST_CASE("the client is who the kernel says") {
  OpenHost host;
  Dialogue dialogue(host);
  REQUIRE(dialogue.say_hello());
  CHECK(host.who.uid == ::geteuid());
  CHECK(host.who.gid == ::getegid());
  CHECK(host.who.pid == ::getpid());
}

TEST_CASE("a wrong field is named to the client, nothing is made for it, and the next client is served") {
  const auto before = open_descriptors();
  {
    OpenHost host;
    for (const auto& field : hello_fields()) {
      for (const std::uint64_t value : values_around(get_field(good_hello(), field))) {
        auto hello = good_hello();
        set_field(hello, field, value);
        if (get_field(hello, field) == get_field(good_hello(), field)) continue;
        if (is_taken(field, get_field(hello, field))) continue;
        CAPTURE(field.name);
        CAPTURE(value);
        Dialogue dialogue(host);
        CHECK_FALSE(dialogue.say(bytes_of(hello)));
        CHECK(dialogue.refused_field() == field.name);
        CHECK(dialogue.engine->reason().rfind(field.name + ": ", 0) == 0);
      }
    }
    CHECK(host.offers == 0);
    Dialogue good(host);
    CHECK(good.say_hello());
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a hello cut at any byte, or followed by more, is refused") {
  OpenHost host;
  std::vector<std::byte> message(2000);
  const auto hello = good_hello();
  std::memcpy(message.data(), &hello, sizeof hello);
  for (std::size_t size = 1; size < message.size(); size += size < 300 ? 1 : 97) {
    if (size == sizeof hello) continue;
    CAPTURE(size);
    Dialogue dialogue(host);
    CHECK_FALSE(dialogue.say(std::span<const std::byte>(message).first(size)));
    CHECK(dialogue.refused_field() == "size");
  }
  CHECK(host.offers == 0);
}

TEST_CASE("an empty message ends a connection") {
  OpenHost host;
  Dialogue dialogue(host);
  CHECK_FALSE(dialogue.say({}));
}

TEST_CASE("descriptors that a client sends are closed") {
  OpenHost host;
  int many[60];
  for (auto& descriptor : many) descriptor = STDERR_FILENO;
  const auto before = open_descriptors();
  for (const std::size_t count : {1U, 32U}) {
    Dialogue dialogue(host);
    const auto with_pair = open_descriptors();
    auto hello = good_hello();
    hello.role = 99;
    CHECK_FALSE(dialogue.say(bytes_of(hello), std::span<const int>(many, count)));
    CHECK(open_descriptors() == with_pair);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("more descriptors than any message has room for are closed too") {
  OpenHost host;
  Dialogue dialogue(host);
  const auto before = open_descriptors();
  const auto hello = good_hello();
  iovec vector{const_cast<rde_attach_hello*>(&hello), sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 200)] = {};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * 200);
  for (int i = 0; i < 200; ++i) std::memcpy(CMSG_DATA(part) + static_cast<std::size_t>(i) * sizeof(int), "\2\0\0\0", 4);
  REQUIRE(::sendmsg(dialogue.client.get(), &message, 0) == static_cast<ssize_t>(sizeof hello));
  (void)dialogue.engine->on_readable();
  dialogue.engine.reset();
  CHECK(open_descriptors() <= before);
}

TEST_CASE("only a whole MAPPED is taken for one") {
  for (const unsigned wrong : {0U, 1U, 2U, 3U}) {
    CAPTURE(wrong);
    OpenHost host;
    Dialogue dialogue(host);
    REQUIRE(dialogue.say_hello());
    (void)dialogue.answer();
    auto signal = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_MAPPED);
    std::vector<std::byte> message(24);
    if (wrong == 0) signal.type = RDE_ATTACH_TYPE_ATTACHED;
    if (wrong == 1) signal.reserved = 1;
    if (wrong == 2) signal.size = 24;
    if (wrong == 3) signal.size = 8;
    std::memcpy(message.data(), &signal, sizeof signal);
    CHECK_FALSE(dialogue.say(std::span<const std::byte>(message).first(signal.size)));
    CHECK_FALSE(dialogue.refused_field().empty());
    CHECK(host.clients.empty());
  }
}

TEST_CASE("a client that sealed its file to cheat is refused, and nothing else") {
  OpenHost host;
  Dialogue dialogue(host);
  REQUIRE(dialogue.say_hello());
  const auto received = dialogue.answer();
  REQUIRE(fcntl(received.descriptors[0].get(), F_ADD_SEALS, F_SEAL_SEAL) == 0);
  CHECK_FALSE(dialogue.say_mapped());
  CHECK(dialogue.refused_field() == "segment");
  CHECK(host.clients.empty());
}

TEST_CASE("a client that sends a message after it was attached is over") {
  OpenHost host;
  Dialogue dialogue(host);
  REQUIRE(dialogue.say_hello());
  REQUIRE(dialogue.say_mapped());
  CHECK_FALSE(dialogue.say_mapped());
  CHECK(dialogue.engine->reason().find("after it was attached") != std::string::npos);
}

TEST_CASE("a client that closes is over, without a reason, at each step") {
  for (const unsigned steps : {0U, 1U, 2U}) {
    OpenHost host;
    Dialogue dialogue(host);
    if (steps > 0) REQUIRE(dialogue.say_hello());
    if (steps > 1) REQUIRE(dialogue.say_mapped());
    while (dialogue.answer().bytes != 0) {
    }
    dialogue.client.reset();
    CHECK_FALSE(dialogue.engine->on_readable());
    CHECK(dialogue.engine->reason().empty());
  }
}

TEST_CASE("a client that is gone before it can be answered is over") {
  OpenHost host;
  Dialogue dialogue(host);
  REQUIRE(prim::send(dialogue.client.get(), bytes_of(good_hello())));
  dialogue.client.reset();
  CHECK_FALSE(dialogue.engine->on_readable());
}

TEST_CASE("a look at a silent socket changes nothing") {
  OpenHost host;
  Dialogue dialogue(host);
  CHECK(dialogue.engine->on_readable());
  CHECK(dialogue.say_hello());
}

TEST_CASE("a lister gets every client, however many there are") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  AttachServer server(folder.file("socket"));
  for (const std::uint64_t count : {0U, 1U, 500U}) {
    CAPTURE(count);
    server.with_host([&](OpenHost& host) { host.listed = count; });
    const auto clients = list_clients(server.socket());
    REQUIRE_MESSAGE(clients, clients.error().text);
    CHECK(clients->size() == count);
    if (count > 0) CHECK(clients->back().name == "client " + std::to_string(count));
  }
}

TEST_CASE("a lister that does not read holds nobody up") {
  const Watchdog watchdog(60);
  OpenHost host;
  host.listed = 100'000;
  Dialogue dialogue(host);
  CHECK_FALSE(dialogue.say(bytes_of(make_hello(RDE_ROLE_LIST, "slow"))));
}

TEST_CASE("a monitor gets a segment for reading only, and only one that is there") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  AttachServer server(folder.file("socket"));
  const auto attached = attach({.socket = server.socket()});
  REQUIRE_MESSAGE(attached, attached.error().text);
  const auto file = monitor_client(server.socket(), attached->client_number);
  REQUIRE_MESSAGE(file, file.error().text);
  CHECK(Mapping::map(file->get(), Mapping::Access::read_only));
  CHECK_FALSE(Mapping::map(file->get(), Mapping::Access::read_write));
  const auto missing = monitor_client(server.socket(), 999);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().status == Status::attach_refused);
  CHECK(missing.error().text.find("no such client") != std::string::npos);
}

}  // namespace rde::test
