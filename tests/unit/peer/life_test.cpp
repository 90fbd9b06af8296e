// Connections: how they come up, go down and come back, and what that does to jobs.
#include "engines.h"

using namespace rde;
using namespace rde::test;

TEST_CASE("opening a peer tells its opener, and a second opener shares the connection") {
  Engines engines;
  Opened first, second, third;
  const auto a = engines.gateway->open(engines.where, &first);
  const auto b = engines.gateway->open(engines.where, &second);
  CHECK(*a == *b);
  CHECK(engines.gateway->state(*a) == Status::peer_down);
  engines.until([&] { return !first.statuses.empty() && !second.statuses.empty(); });
  CHECK(first.statuses == std::vector{Status::ok});
  CHECK(second.last == *a);
  REQUIRE(engines.gateway->open(engines.where, &third));
  CHECK(third.statuses.empty());
  engines.step();
  CHECK(third.statuses == std::vector{Status::ok});
  CHECK(engines.storage->responder().sessions() == 1);
}

TEST_CASE("a connection ends with its last opener, and its handle is stale afterwards") {
  Engines engines;
  Opened opened;
  const Handle peer = *engines.gateway->open(engines.where, &opened);
  REQUIRE(engines.gateway->open(engines.where, &opened));
  engines.until([&] { return opened.statuses.size() == 2; });
  CHECK(engines.gateway->close(peer) == Status::ok);
  CHECK(engines.gateway->state(peer) == Status::ok);
  CHECK(engines.gateway->close(peer) == Status::ok);
  engines.until([&] { return engines.gateway->state(peer) == Status::stale_handle; });
  CHECK(engines.gateway->close(peer) == Status::stale_handle);
  engines.until([&] { return engines.storage->responder().sessions() == 0; });

  const Handle again = *engines.gateway->open(engines.where, &opened);
  CHECK(again.index == peer.index);
  CHECK(again.generation != peer.generation);
  CHECK(engines.gateway->state(Handle{peer.index, again.generation + 1}) == Status::invalid_handle);
}

TEST_CASE("opening an address where nobody listens says peer_unreachable and leaves nothing behind") {
  Engines engines;
  Opened opened;
  const Handle peer = *engines.gateway->open(*resolve({"127.0.0.1", 1}), &opened);
  engines.until([&] { return opened.statuses.size() == 1; });
  CHECK(opened.statuses[0] == Status::peer_unreachable);
  engines.step();
  CHECK(engines.gateway->state(peer) == Status::stale_handle);
}

TEST_CASE("a static peer cannot be closed by who did not open it") {
  Engines engines;
  engines.join();
  CHECK(engines.gateway->close(engines.peer) == Status::permission_denied);
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
}

TEST_CASE("a static peer is connected to again and again, never more than three times a second") {
  Engines engines;
  engines.join();
  engines.fabric.kill(engines.storage_transport);
  engines.until([&] { return engines.gateway->state(engines.peer) == Status::peer_down; });
  engines.pass(30 * kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::peer_down);
  engines.fabric.revive(engines.storage_transport);
  engines.pass(7 * kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
  CHECK(engines.gateway->counts().connects == 2);

  // A peer that dies as soon as it is up gets no storm either.
  const auto before = engines.gateway->counts().connects;
  const Nanoseconds begin = engines.time;
  while (engines.time - begin < 10 * kSecond) {
    if (engines.gateway->state(engines.peer) == Status::ok) {
      engines.fabric.cut(engines.storage_transport, engines.gateway_transport);
    }
    engines.pass(10 * kMillisecond);
  }
  CHECK(engines.gateway->counts().connects - before <= 30);
}

TEST_CASE("when the peer dies, every job ends once with peer_down, whatever it was doing") {
  for (int after = 0; after < 400; after += 13) {
    CAPTURE(after);
    Engines engines;
    engines.fabric.set_pace({.bytes_per_second = 4'000'000'000, .detection = 50 * kMicrosecond});
    engines.source.put(7, 1, pattern(3 << 20, 1));
    engines.join();
    std::deque<TestJob> jobs(20);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs[i].bulk = i % 3 == 0;
      engines.read(jobs[i], 1, i % 2 == 0 ? 3 << 20 : 4096, 0);
    }
    for (int i = 0; i < after; ++i) engines.step();
    engines.fabric.kill(engines.storage_transport);
    engines.until([&] { return std::ranges::all_of(jobs, [](const TestJob& job) { return job.done != 0; }); });
    engines.pass(kMillisecond);
    for (const TestJob& job : jobs) {
      CHECK(job.done == 1);
      CHECK((job.status == Status::peer_down || job.status == Status::ok));
    }
    CHECK(jobs.back().done == 1);
    CHECK_FALSE(engines.gateway->busy());
    CHECK(engines.storage->responder().staging_in_use() == 0);
  }
}

TEST_CASE("a job for a peer that is down ends with peer_down") {
  Engines engines;
  engines.join();
  engines.fabric.kill(engines.storage_transport);
  engines.until([&] { return engines.gateway->state(engines.peer) == Status::peer_down; });
  TestJob job;
  engines.read(job, 1, 100);
  engines.step();
  CHECK(job.status == Status::peer_down);
}

TEST_CASE("when the requester dies, the storage engine takes its memory back") {
  Engines engines;
  engines.source.put(7, 1, pattern(3 << 20, 1));
  engines.join();
  engines.source.holds = true;
  TestJob job;
  engines.read(job, 1, 3 << 20);
  engines.until([&] { return engines.source.waiting() != 0; });
  CHECK(engines.storage->responder().staging_in_use() != 0);
  engines.fabric.kill(engines.gateway_transport);
  engines.until([&] { return engines.storage->responder().sessions() == 0 && !engines.storage->busy(); });
  CHECK(engines.storage->responder().staging_in_use() == 0);
}

TEST_CASE("a peer that is frozen is dropped after its timeout, and found again") {
  Engines engines;
  engines.source.put(7, 1, pattern(4096, 1));
  engines.join();
  engines.fabric.freeze(engines.storage_transport);
  engines.pass(5 * kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
  engines.pass(15 * kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::peer_down);
  engines.fabric.thaw(engines.storage_transport);
  engines.pass(10 * kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
}

TEST_CASE("an engine that stood still itself does not blame its peers") {
  Engines engines;
  engines.join();
  engines.time += 60 * kSecond;
  engines.pass(kSecond);
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
  CHECK(engines.gateway->counts().connects == 1);
}

TEST_CASE("draining answers what runs, refuses what is new, and says good-bye") {
  Engines engines;
  engines.source.put(7, 1, pattern(4096, 1));
  engines.join();
  engines.source.holds = true;
  TestJob running;
  engines.read(running, 1, 4096);
  engines.until([&] { return engines.source.waiting() == 1; });
  engines.storage->drain();
  engines.pass(kMillisecond);
  CHECK(engines.gateway->state(engines.peer) == Status::peer_down);
  CHECK(running.done == 0);
  engines.source.holds = false;
  engines.until([&] { return running.done == 1; });
  CHECK(running.status == Status::ok);
  engines.until([&] { return !engines.storage->busy(); });
  engines.storage->stop();
  engines.until([&] { return engines.storage->is_stopped(); });
}

TEST_CASE("a gateway that drains refuses jobs, and stopping ends those that run") {
  Engines engines;
  engines.source.put(7, 1, pattern(4096, 1));
  engines.join();
  engines.source.holds = true;
  TestJob running, late;
  engines.read(running, 1, 4096);
  engines.pass(kMillisecond);
  engines.gateway->drain();
  engines.read(late, 1, 4096);
  engines.step();
  CHECK(late.status == Status::draining);
  CHECK(engines.gateway->open(engines.where, nullptr).error().status == Status::draining);
  engines.gateway->stop();
  engines.until([&] { return engines.gateway->is_stopped(); });
  CHECK(running.done == 1);
  CHECK(running.status == Status::peer_down);
}

TEST_CASE("closing a peer ends its jobs, also while it connects") {
  Engines engines;
  Opened opened;
  const Handle peer = *engines.gateway->open(engines.where, &opened);
  engines.gateway->close(peer);
  engines.until([&] { return engines.gateway->state(peer) == Status::stale_handle; });
  engines.until([&] { return !engines.gateway->busy(); });
}

TEST_CASE("the number of peers and of sessions is bounded") {
  auto few_sessions = options_of(1);
  few_sessions.max_sessions = 1;
  auto few_peers = options_of(2);
  few_peers.max_peers = 1;
  Engines engines(few_sessions, few_peers);
  engines.join();
  CHECK(engines.gateway->open(*resolve({"127.0.0.1", 2}), nullptr).error().status == Status::too_many_peers);
  SimTransport other(engines.fabric);
  Ends ends;
  REQUIRE(other.connect(engines.where, ends));
  for (int i = 0; i < 100 && ends.down.empty(); ++i) {
    engines.step();
    other.progress(engines.time);
  }
  CHECK(ends.down.size() == 1);
  CHECK(ends.up.empty());
}

TEST_CASE("an option out of its range is refused by name") {
  SimFabric fabric;
  SimTransport transport(fabric);
  auto options = options_of(1);
  options.slices_in_flight = 5;
  const auto hub = PeerHub::create({transport, nullptr, nullptr, {}}, options);
  CHECK(hub.error().status == Status::invalid_request);
  CHECK(hub.error().text == "peer option slices_in_flight is 5, set it to 2 to 4");
  Arena staging(4096);
  MemorySource source;
  const auto small = PeerHub::create({transport, &source, nullptr, staging.bytes()}, options_of(1));
  CHECK(small.error().text.find("staging memory is 4096 bytes") != std::string::npos);
}
