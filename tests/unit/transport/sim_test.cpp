// The script of the simulated fabric.
#include "pairs.h"

using namespace rde;
using namespace rde::test;

namespace {

// A link with one landing posted and its delivery under way.
struct Scripted {
  SimFabric fabric;
  SimTransport storage_transport{fabric};
  SimTransport gateway_transport{fabric};
  Ends storage, gateway;
  Arena storage_arena{2 << 20}, gateway_arena{2 << 20};
  Memory* storage_memory = *storage_transport.add_memory(storage_arena.bytes());
  Memory* gateway_memory = *gateway_transport.add_memory(gateway_arena.bytes());
  Link* to_storage = nullptr;
  Nanoseconds time = kSecond;

  void pass(Nanoseconds duration) {
    for (const Nanoseconds end = time + duration; time < end;) {
      time += duration / 100;
      storage_transport.progress(time);
      gateway_transport.progress(time);
    }
  }
  void join() {
    const auto where = *storage_transport.listen(*resolve({"127.0.0.1", 0}), storage);
    to_storage = *gateway_transport.connect(where, gateway);
    pass(kMillisecond);
    REQUIRE(storage.up.size() == 1);
  }
  void give(std::size_t size) {
    std::ranges::fill(storage_arena.bytes(), std::byte{0xEE});
    const auto key = to_storage->post_landing(1, gateway_arena.bytes().first(size), *gateway_memory);
    REQUIRE(storage.up[0]->deliver(1, *key, {}, storage_arena.bytes().first(size), *storage_memory, nullptr) ==
            Status::ok);
  }
};

}  // namespace

TEST_CASE("a held transfer cannot be withdrawn, and writes as late as the script says") {
  Scripted s;
  s.join();
  s.fabric.hold_transfers(5 * kSecond);
  s.give(4096);
  s.pass(kMillisecond);
  CHECK_FALSE(s.to_storage->withdraw_landing(1));
  s.pass(4 * kSecond);
  CHECK(s.gateway.landed.empty());
  CHECK(s.gateway_arena.bytes()[0] == std::byte{0});
  s.pass(2 * kSecond);
  CHECK(s.gateway.landed[1].status == Status::ok);
  CHECK(s.gateway_arena.bytes()[0] == std::byte{0xEE});
}

TEST_CASE("a payload takes the time that the bandwidth says") {
  Scripted s;
  s.fabric.set_pace({.bytes_per_second = 1'000'000});
  s.join();
  s.give(1'000'000);
  s.pass(900 * kMillisecond);
  CHECK(s.gateway.landed.empty());
  s.pass(200 * kMillisecond);
  CHECK(s.gateway.landed.contains(1));
}

TEST_CASE("a frozen transport says nothing, and goes on where it stood") {
  Scripted s;
  s.join();
  s.fabric.freeze(s.storage_transport);
  CHECK(s.to_storage->send(bytes_of("hello")) == Status::ok);
  s.pass(60 * kSecond);
  CHECK(s.storage.messages.empty());
  CHECK(s.gateway.down.empty());
  s.fabric.thaw(s.storage_transport);
  s.pass(kMillisecond);
  CHECK(s.storage.messages.size() == 1);
}

TEST_CASE("the survivor of a death notices after the detection time, and its landings end then") {
  Scripted s;
  s.fabric.set_pace({.bytes_per_second = 1'000'000, .detection = 50 * kMillisecond});
  s.join();
  s.give(1'000'000);
  s.pass(100 * kMillisecond);
  s.fabric.kill(s.storage_transport);
  s.pass(40 * kMillisecond);
  CHECK(s.gateway.down.empty());
  CHECK(s.gateway.landed.empty());
  CHECK(s.storage.delivered.size() == 1);
  s.pass(20 * kMillisecond);
  CHECK(s.gateway.landed[1].status == Status::peer_down);
  CHECK(s.gateway.down.size() == 1);
}

TEST_CASE("a cut ends the links between two transports on both sides") {
  Scripted s;
  s.join();
  s.fabric.cut(s.storage_transport, s.gateway_transport);
  s.pass(10 * kMillisecond);
  CHECK(s.gateway.down.size() == 1);
  CHECK(s.storage.down.size() == 1);
}

TEST_CASE("a listener that is frozen costs the connect timeout") {
  Scripted s;
  const auto where = *s.storage_transport.listen(*resolve({"127.0.0.1", 0}), s.storage);
  s.pass(kMillisecond);
  s.fabric.freeze(s.storage_transport);
  REQUIRE(s.gateway_transport.connect(where, s.gateway));
  s.pass(2 * kSecond);
  CHECK(s.gateway.down.empty());
  s.pass(2 * kSecond);
  CHECK(s.gateway.down.size() == 1);
  CHECK(s.gateway.down[0].status == Status::peer_unreachable);
}
