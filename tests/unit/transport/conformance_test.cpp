// What every transport must do.
#include "pairs.h"

using namespace rde;
using namespace rde::test;

#if defined(RDE_ONLY_VERBS)
#define EVERY_PAIR VerbsPair
#elif RDE_HAS_UCX
#define EVERY_PAIR SimPair, TcpPair
#else
#define EVERY_PAIR SimPair
#endif

TEST_CASE_TEMPLATE("messages of every size arrive whole and in order", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  std::vector<std::string> sent;
  for (std::size_t size = 1; size <= Link::kMaxMessage; size += size < 70 ? 1 : 61) {
    sent.push_back(text_of(pattern(size, static_cast<unsigned>(size))));
    REQUIRE(joined.to_storage->send(bytes_of(sent.back())) == Status::ok);
    joined.pair.step();
  }
  sent.push_back(text_of(pattern(Link::kMaxMessage, 7)));
  REQUIRE(joined.to_storage->send(bytes_of(sent.back())) == Status::ok);
  joined.until([&] { return joined.storage.messages.size() == sent.size(); });
  CHECK(joined.storage.messages == sent);
}

TEST_CASE_TEMPLATE("a message that is empty or too long is refused", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  CHECK(joined.to_storage->send({}) == Status::invalid_request);
  CHECK(joined.to_storage->send(pattern(Link::kMaxMessage + 1, 1)) == Status::invalid_request);
}

TEST_CASE_TEMPLATE("payloads of every size land whole with their header", Pair, EVERY_PAIR) {
  Joined<Pair> joined(16 << 20);
  std::uint64_t id = 0;
  for (const std::size_t size : {0UL, 1UL, 4096UL, 8191UL, 65'536UL, 65'537UL, 300'000UL, 1UL << 20, 16UL << 20}) {
    CAPTURE(size);
    const auto bytes = pattern(size, static_cast<unsigned>(size) + 3);
    std::ranges::copy(bytes, joined.storage_arena.bytes().begin());
    const auto key =
        joined.to_storage->post_landing(++id, joined.gateway_arena.bytes().first(size), *joined.gateway_memory);
    REQUIRE(key);
    CHECK(key->length == size);
    joined.hand_over(*key);
    const std::string header(id * 5, 'h');
    REQUIRE(joined.to_gateway->deliver(id, *key, bytes_of(header), joined.storage_arena.bytes().first(size),
                                       *joined.storage_memory, nullptr) == Status::ok);
    joined.until([&] { return joined.gateway.landed.contains(id) && joined.storage.delivered.size() == id; });
    CHECK(joined.gateway.landed[id].status == Status::ok);
    CHECK(joined.gateway.landed[id].bytes == size);
    CHECK(joined.gateway.landed[id].header == header);
    CHECK(joined.storage.delivered.back() == Status::ok);
    CHECK(std::ranges::equal(joined.gateway_arena.bytes().first(size), bytes));
  }
}

TEST_CASE_TEMPLATE("a landing takes less than it has room for", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  const auto key = joined.to_storage->post_landing(1, joined.gateway_arena.bytes().first(8192), *joined.gateway_memory);
  joined.hand_over(*key);
  REQUIRE(joined.to_gateway->deliver(1, *key, {}, joined.storage_arena.bytes().first(5), *joined.storage_memory,
                                     nullptr) == Status::ok);
  joined.until([&] { return joined.gateway.landed.contains(1); });
  CHECK(joined.gateway.landed[1].bytes == 5);
}

TEST_CASE_TEMPLATE("memory outside the registered range is refused on both sides", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  std::vector<std::byte> elsewhere(64);
  CHECK(joined.to_storage->post_landing(1, elsewhere, *joined.gateway_memory).error().status ==
        Status::buffer_out_of_range);
  CHECK(joined.to_gateway->deliver(1, {}, {}, elsewhere, *joined.storage_memory, nullptr) ==
        Status::buffer_out_of_range);
}

TEST_CASE_TEMPLATE("a withdrawn landing is never written, and the link goes on", Pair, EVERY_PAIR) {
  for (const std::size_t size : {4096UL, 1UL << 20}) {  // eager, rendezvous
    CAPTURE(size);
    Joined<Pair> joined;
    const auto target = joined.gateway_arena.bytes().first(size);
    std::ranges::fill(target, std::byte{0x11});
    std::ranges::fill(joined.storage_arena.bytes(), std::byte{0xEE});
    const auto give = [&](std::uint64_t id, const LandingKey& key) {
      REQUIRE(joined.to_gateway->deliver(id, key, {}, joined.storage_arena.bytes().first(size), *joined.storage_memory,
                                         nullptr) == Status::ok);
    };
    const auto withdrawn = joined.to_storage->post_landing(1, target, *joined.gateway_memory);
    CHECK(joined.to_storage->withdraw_landing(1));
    give(1, *withdrawn);
    joined.until([&] { return joined.storage.delivered.size() == 1; });
    // Eager bytes are out before anybody knows; a rendezvous is refused by the receiver.
    if (size > 65'536) CHECK(joined.storage.delivered[0] == Status::cancelled);

    const auto wanted =
        joined.to_storage->post_landing(2, joined.gateway_arena.bytes().last(size), *joined.gateway_memory);
    joined.hand_over(*wanted);
    give(2, *wanted);
    joined.until([&] { return joined.gateway.landed.contains(2); });
    CHECK(joined.gateway.landed[2].status == Status::ok);
    CHECK_FALSE(joined.gateway.landed.contains(1));
    CHECK(std::ranges::count(target, std::byte{0x11}) == static_cast<std::ptrdiff_t>(size));
  }
}

TEST_CASE_TEMPLATE("a key is good once, and a forged one writes nothing", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  std::ranges::fill(joined.gateway_arena.bytes(), std::byte{0x11});
  std::ranges::fill(joined.storage_arena.bytes(), std::byte{0xEE});
  const auto key = joined.to_storage->post_landing(1, joined.gateway_arena.bytes().first(4096), *joined.gateway_memory);
  const auto give = [&](const LandingKey& to, std::size_t size) {
    REQUIRE(joined.to_gateway->deliver(1, to, {}, joined.storage_arena.bytes().first(size), *joined.storage_memory,
                                       nullptr) == Status::ok);
  };
  joined.hand_over(*key);
  give({key->address + 1, key->key, 4096}, 4096);
  give({key->address, key->key, 1 << 20}, 4097);  // longer than the landing
  give({key->address, key->key, 1 << 20}, 1 << 20);
  joined.until([&] { return joined.storage.delivered.size() == 3; });
  joined.to_gateway->send(bytes_of("after"));
  joined.until([&] { return joined.gateway.messages.size() == 1; });
  CHECK(joined.gateway.landed.empty());
  CHECK(std::ranges::count(joined.gateway_arena.bytes(), std::byte{0xEE}) == 0);
  give(*key, 4096);
  give(*key, 4096);
  joined.until([&] { return joined.storage.delivered.size() == 5; });
  joined.to_gateway->send(bytes_of("again"));
  joined.until([&] { return joined.gateway.messages.size() == 2 && !joined.gateway.landed.empty(); });
  CHECK(joined.gateway.landed.size() == 1);
  CHECK(joined.gateway.double_landings == 0);
}

TEST_CASE_TEMPLATE("withdrawing a landing that a transfer has begun on answers false, and it lands", Pair, EVERY_PAIR) {
  Joined<Pair> joined(16 << 20);
  const auto key = joined.to_storage->post_landing(9, joined.gateway_arena.bytes(), *joined.gateway_memory);
  joined.hand_over(*key);
  REQUIRE(joined.to_gateway->deliver(9, *key, {}, joined.storage_arena.bytes(), *joined.storage_memory, nullptr) ==
          Status::ok);
  joined.until([&] { return joined.gateway.landed.contains(9); });
  CHECK_FALSE(joined.to_storage->withdraw_landing(9));
}

TEST_CASE_TEMPLATE("closing from either side ends both, landings first, each once", Pair, EVERY_PAIR) {
  for (const bool gateway_closes : {true, false}) {
    CAPTURE(gateway_closes);
    Joined<Pair> joined;
    REQUIRE(joined.to_storage->post_landing(1, joined.gateway_arena.bytes().first(64), *joined.gateway_memory));
    joined.to_storage->send(bytes_of("last words"));
    Link* closer = gateway_closes ? joined.to_storage : joined.to_gateway;
    if (!gateway_closes) joined.until([&] { return joined.storage.messages.size() == 1; });
    closer->close({Status::draining, "first reason"});
    closer->close({Status::internal, "second reason"});
    CHECK(closer->send(bytes_of("x")) == Status::peer_down);
    joined.until([&] { return joined.gateway.down.size() == 1 && joined.storage.down.size() == 1; });
    CHECK(joined.gateway.landed[1].status == Status::peer_down);
    CHECK(joined.storage.messages == std::vector<std::string>{"last words"});
    CHECK((gateway_closes ? joined.gateway : joined.storage).down[0].text == "first reason");
    CHECK((gateway_closes ? joined.storage : joined.gateway).down[0].status == Status::peer_down);
    for (int i = 0; i < 100; ++i) joined.pair.step();
    CHECK(joined.gateway.down.size() + joined.storage.down.size() == 2);
  }
}

TEST_CASE_TEMPLATE("closing amid a transfer ends it on both sides", Pair, EVERY_PAIR) {
  Joined<Pair> joined(16 << 20);
  const auto key = joined.to_storage->post_landing(1, joined.gateway_arena.bytes(), *joined.gateway_memory);
  joined.hand_over(*key);
  REQUIRE(joined.to_gateway->deliver(1, *key, {}, joined.storage_arena.bytes(), *joined.storage_memory, nullptr) ==
          Status::ok);
  joined.pair.step();
  joined.to_storage->close({Status::draining, "closed"});
  joined.until([&] { return joined.gateway.down.size() == 1 && joined.storage.down.size() == 1; });
  CHECK(joined.gateway.landed.size() == 1);
  CHECK(joined.storage.delivered.size() == 1);
}

TEST_CASE_TEMPLATE("connecting to nobody ends in peer_unreachable", Pair, EVERY_PAIR) {
  Ends ends;
  Pair pair;
  const auto link = pair.gateway().connect(Pair::nobody(), ends);
  if (link) {
    step_until(pair, [&] { return ends.down.size() == 1; });
    CHECK(ends.down[0].status == Status::peer_unreachable);
    CHECK(ends.up.empty());
  }
}

TEST_CASE_TEMPLATE("an acceptor can refuse a link", Pair, EVERY_PAIR) {
  Ends storage, gateway;
  Pair pair;
  storage.accepts = false;
  const auto where = pair.storage().listen(Pair::any_port(), storage);
  REQUIRE(pair.gateway().connect(*where, gateway));
  step_until(pair, [&] { return gateway.down.size() == 1; });
  CHECK(storage.up.empty());
  CHECK(storage.down.empty());
}

TEST_CASE_TEMPLATE("sixty-four links live side by side", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  for (int i = 1; i < 64; ++i) REQUIRE(joined.pair.gateway().connect(joined.where, joined.gateway));
  joined.until([&] { return joined.gateway.up.size() == 64 && joined.storage.up.size() == 64; });
  for (std::size_t i = 0; i < 64; ++i) {
    REQUIRE(joined.gateway.up[i]->send(bytes_of("link " + std::to_string(i))) == Status::ok);
  }
  joined.until([&] { return joined.storage.messages.size() == 64; });
  std::ranges::sort(joined.storage.messages);
  CHECK(std::unique(joined.storage.messages.begin(), joined.storage.messages.end()) == joined.storage.messages.end());
}

TEST_CASE_TEMPLATE("a silent peer costs a bounded backlog", Pair, EVERY_PAIR) {
  Joined<Pair> joined;
  const auto message = pattern(Link::kMaxMessage, 1);
  Status status = Status::ok;
  // Only the gateway makes progress, so nobody reads.
  for (int i = 0; i < 20'000 && status == Status::ok; ++i) {
    status = joined.to_storage->send(message);
    if constexpr (!std::is_same_v<Pair, SimPair>) joined.pair.gateway().progress(now_ns());
  }
  CHECK(status == Status::peer_busy);
}
