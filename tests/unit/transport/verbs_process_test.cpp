// Verbs between processes: one is killed or stopped; and what only verbs have.
#include <poll.h>

#include <csignal>

#include "child.h"
#include "pairs.h"
#include "tcp_peer.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr const char* kPeerProgram = "unit_verbs_peer";

// A gateway that reads from children.
struct Reader {
  Ends ends;
  Arena arena{kVerbsArena};
  std::unique_ptr<VerbsTransport> transport = verbs_transport(10 * kSecond);
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

}  // namespace

TEST_CASE("another process writes bytes of every size") {
  Reader reader;
  Child child(kPeerProgram, "listen");
  Link* link = reader.connect(child);
  for (const std::size_t size : {1UL, 4096UL, 4097UL, 65'536UL, 1UL << 20, (1UL << 20) + 1, kVerbsArena}) {
    reader.check_good(link, size);
  }
}

TEST_CASE("a killed peer ends its link and landings once, and nothing lands afterwards") {
  Reader reader;
  Child good(kPeerProgram, "listen");
  Link* survivor = reader.connect(good);
  std::size_t descriptors = 0;
  for (std::size_t round = 0; round < 8; ++round) {
    Child victim(kPeerProgram, "listen");
    Link* link = reader.connect(victim);
    const auto waiting = 1'000'000 + round;
    REQUIRE(link->post_landing(waiting, reader.arena.bytes().first(64), *reader.memory));
    const auto asked = reader.ask(link, kVerbsArena);
    reader.pass(round * 3 * kMillisecond);
    victim.kill(SIGKILL);
    reader.until([&] { return reader.ends.down.size() == round + 1; });
    CHECK(reader.ends.down.back().status == Status::peer_down);
    CHECK(reader.ends.landed.contains(asked));
    CHECK(reader.ends.landed[waiting].status == Status::peer_down);
    std::ranges::fill(reader.arena.bytes(), std::byte{0x5A});
    reader.pass(50 * kMillisecond);
    CHECK(std::ranges::count(reader.arena.bytes(), std::byte{0x5A}) == static_cast<std::ptrdiff_t>(kVerbsArena));
    reader.check_good(survivor, 1 << 20);
    if (round == 3) descriptors = open_descriptors();
  }
  CHECK(reader.ends.double_landings == 0);
  CHECK(open_descriptors() <= descriptors);
}

TEST_CASE("a stopped peer is not dead: its device answers for it") {
  Reader reader;
  Child child(kPeerProgram, "listen");
  Link* link = reader.connect(child);
  child.stop();
  const auto id = reader.ask(link, 1 << 20);
  reader.pass(2 * kSecond);
  CHECK_FALSE(reader.ends.landed.contains(id));
  CHECK(reader.ends.down.empty());
  child.kill(SIGCONT);
  reader.until([&] { return reader.ends.landed.contains(id); });
  CHECK(reader.ends.landed[id].status == Status::ok);
}

TEST_CASE("a link to a stopped peer can be closed, also amid a transfer, and nothing lands afterwards") {
  for (const Nanoseconds after : {Nanoseconds{0}, 500 * kMicrosecond, 20 * kMillisecond}) {
    Reader reader;
    Child child(kPeerProgram, "listen");
    Link* link = reader.connect(child);
    const auto id = reader.ask(link, kVerbsArena);
    reader.pass(after);
    child.stop();
    link->close({Status::network_timeout, "given up"});
    reader.until([&] { return reader.ends.down.size() == 1; });
    CHECK(reader.ends.down[0].text == "given up");
    CHECK(reader.ends.landed.contains(id));
    CHECK(reader.ends.double_landings == 0);
    std::ranges::fill(reader.arena.bytes(), std::byte{0x5A});
    child.kill(SIGCONT);
    reader.pass(50 * kMillisecond);
    CHECK(std::ranges::count(reader.arena.bytes(), std::byte{0x5A}) == static_cast<std::ptrdiff_t>(kVerbsArena));
  }
}

TEST_CASE("a landing that its owner knows of is revoked, and then belongs to the requester again") {
  Joined<VerbsPair> joined;
  const auto target = joined.gateway_arena.bytes().first(1 << 20);
  const auto key = joined.to_storage->post_landing(1, target, *joined.gateway_memory);
  joined.to_storage->send(bytes_of("the key goes with this"));
  joined.until([&] { return joined.storage.messages.size() == 1; });
  CHECK_FALSE(joined.to_storage->withdraw_landing(1));
  CHECK_FALSE(joined.to_storage->withdraw_landing(1));
  joined.until([&] { return joined.gateway.landed.contains(1); });
  CHECK(joined.gateway.landed[1].status == Status::cancelled);
  REQUIRE(joined.to_gateway->deliver(1, *key, {}, joined.storage_arena.bytes().first(1 << 20), *joined.storage_memory,
                                     nullptr) == Status::ok);
  joined.until([&] { return joined.storage.delivered.size() == 1; });
  CHECK(joined.storage.delivered[0] == Status::cancelled);
}

TEST_CASE("a link that is idle outlives its heartbeats") {
  Joined<VerbsPair> joined;
  for (const Nanoseconds end = now_ns() + 1500 * kMillisecond; now_ns() < end;) joined.pair.step();
  CHECK(joined.gateway.down.empty());
  CHECK(joined.pair.gateway().next_timer() <= now_ns() + 200 * kMillisecond);
}

TEST_CASE("thirty links, one after the other, leave no descriptor behind") {
  Joined<VerbsPair> joined;
  std::size_t descriptors = 0;
  for (std::size_t round = 0; round < 30; ++round) {
    Link* link = *joined.pair.gateway().connect(joined.where, joined.gateway);
    joined.until([&] { return joined.gateway.up.size() == 2 && joined.storage.up.size() == 2; });
    (round % 2 == 0 ? link : joined.storage.up[1])->close({Status::ok, "done"});
    joined.until([&] { return joined.gateway.down.size() == round + 1 && joined.storage.down.size() == round + 1; });
    if (round == 10) descriptors = open_descriptors();
  }
  CHECK(open_descriptors() <= descriptors + 2);
}

TEST_CASE("the event descriptor wakes who sleeps on news") {
  Joined<VerbsPair> joined;
  Transport& sleeper = joined.pair.storage();
  for (int i = 0; i < 1000; ++i) joined.pair.step();
  while (!sleeper.arm()) joined.pair.step();
  joined.to_storage->send(bytes_of("wake up"));
  for (int i = 0; i < 100; ++i) joined.pair.gateway().progress(now_ns());
  pollfd poll{sleeper.event_descriptor(), POLLIN, 0};
  CHECK(::poll(&poll, 1, 20'000) == 1);
  joined.until([&] { return joined.storage.messages.size() == 1; });
}

TEST_CASE("an address without a device, and a device that does not exist, are named") {
  Ends ends;
  auto transport = verbs_transport();
  const auto elsewhere = transport->listen(*resolve({"198.51.100.7", 0}), ends);
  REQUIRE_FALSE(elsewhere);
  CHECK(elsewhere.error().text.find("198.51.100.7") != std::string::npos);
  const auto missing = VerbsTransport::create({.device = "nosuch0"});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("nosuch0") != std::string::npos);
}
