// Two engines joined by the scripted fabric, under a clock that tests move.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "../transport/ends.h"
#include "memory_source.h"
#include "peer/peer_hub.h"
#include "transport/sim/sim_transport.h"

namespace rde::test {

struct TestJob final : ObjectJob {
  unsigned done = 0;
  std::function<void()> then;

  virtual ~TestJob() = default;
  void on_done() override {
    ++done;
    if (then) then();
  }
};

struct Opened final : OpenObserver {
  std::vector<Status> statuses;
  Handle last;
  virtual ~Opened() = default;
  void on_open(Handle peer, Status status) override {
    last = peer;
    statuses.push_back(status);
  }
};

inline PeerOptions options_of(std::uint64_t engine, std::string_view key = {}) {
  PeerOptions options;
  options.engine = engine;
  options.engine_version = "0.1.0";
  options.transport_version = "sim";
  options.psk.assign(bytes_of(key).begin(), bytes_of(key).end());
  return options;
}

// A storage engine and a gateway engine.
struct Engines {
  SimFabric fabric;
  SimTransport storage_transport{fabric};
  SimTransport gateway_transport{fabric};
  MemorySource source;
  Arena staging{12 << 20};
  Arena arena{16 << 20};
  std::unique_ptr<PeerHub> storage;
  std::unique_ptr<PeerHub> gateway;
  SocketAddress where;
  Memory* memory = nullptr;
  Handle peer;
  Nanoseconds time = kSecond;
  Nanoseconds tick = 2 * kMicrosecond;

  explicit Engines(const PeerOptions& of_storage = options_of(1), const PeerOptions& of_gateway = options_of(2)) {
    storage = *PeerHub::create({storage_transport, &source, &source, staging.bytes()}, of_storage);
    gateway = *PeerHub::create({gateway_transport, nullptr, nullptr, {}}, of_gateway);
    memory = *gateway_transport.add_memory(arena.bytes());
    where = *storage->listen(*resolve({"127.0.0.1", 0}));
  }
  ~Engines() {
    source.holds = false;
    fabric.hold_transfers(0);
    gateway.reset();
    storage.reset();
  }

  void step() {
    time += tick;
    source.progress();
    storage->progress(time);
    gateway->progress(time);
  }
  template <class Condition>
  void until(Condition condition) {
    for (int turns = 0; !condition(); ++turns) {
      REQUIRE_MESSAGE(turns < 20'000'000, "the watchdog ended a wait");
      step();
    }
  }
  void pass(Nanoseconds duration) {
    const Nanoseconds end = time + duration;
    const Nanoseconds before = std::exchange(tick, std::max<Nanoseconds>(duration / 500, 2 * kMicrosecond));
    while (time < end) step();
    tick = before;
  }
  void join() {
    peer = *gateway->add_static(where);
    until([&] { return gateway->state(peer) == Status::ok; });
  }
  // Fills in and submits; the destination starts at `at` of the arena.
  void read(TestJob& job, std::uint64_t needle, std::size_t length, std::size_t at = 0, std::uint64_t offset = 0) {
    job.kind = ObjectJob::Kind::read;
    job.id = {7, needle, 0};
    job.offset = offset;
    job.destination = arena.bytes().subspan(at, length);
    gateway->submit(peer, job, *memory);
  }
};

}  // namespace rde::test
