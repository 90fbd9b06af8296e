// Clients that break the rules of the ring, and neighbours that must not notice.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

rde_request read_of(std::uint64_t tag) {
  rde_request request{};
  request.op = RDE_OP_OBJECT_READ;
  request.tag = tag;
  request.length = 100;
  return request;
}

// Whether a client that keeps the rules is served.
void check_served(Client& client) {
  for (int i = 0; i < 50; ++i) {
    REQUIRE(client.channel(0).submit(nop_request()));
    REQUIRE(next_completion(client).status == Status::ok);
  }
}

}  // namespace

TEST_CASE("a client that overruns its credits loses that channel, and nothing else") {
  Rig rig;
  const auto healthy = rig.attach();
  const auto attachment =
      std::make_shared<Attachment>(attach_raw(rig.socket(), {.segment_size = 4 << 20, .channels = 2, .depth = 8}));
  RawChannel bad(attachment, 0);
  RawChannel good(attachment, 1);
  for (std::uint64_t tag = 0; tag < 8; ++tag) bad.send(read_of(tag));
  REQUIRE(eventually([&] { return rig.counts().submitted == 8; }));
  CHECK_FALSE(bad.faulted());
  bad.send(read_of(8));
  REQUIRE(eventually([&] { return bad.faulted(); }));
  CHECK(bad.fault() == Status::ring_broken);
  CHECK(rig.stats().violations == 1);
  // What ran before still ends; nothing more is taken.
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  for (int i = 0; i < 8; ++i) CHECK(Status{bad.next().status} == Status::ok);
  bad.send(nop_request());
  CHECK(good.serves());
  CHECK_FALSE(bad.poll());
  CHECK(good.serves());
  check_served(*healthy);
}

TEST_CASE("a client whose quarantine fills its completion ring is faulted before a completion is overwritten") {
  Rig rig;
  RawChannel raw(rig, {.depth = 2});
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  // Depth 2: eight completion slots. Each late read needs one now and one later.
  std::uint64_t tag = 0;
  for (; tag < 7; ++tag) {
    auto request = read_of(tag);
    request.deadline_ns = now_ns() + 50 * kMillisecond;
    raw.send(request);
    const auto done = raw.next();
    REQUIRE(Status{done.status} == Status::deadline_exceeded);
    REQUIRE(done.flags == RDE_COMPLETION_FLAG_MORE);
  }
  raw.send(read_of(tag));
  REQUIRE(eventually([&] { return raw.faulted(); }));
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  for (int i = 0; i < 7; ++i) CHECK(raw.next().flags == RDE_COMPLETION_FLAG_BUFFER_FREE);
}

TEST_CASE("a client that never reaps costs the others nothing") {
  Rig rig({.mode = PollMode::adaptive});
  const auto healthy = rig.attach();
  RawChannel deaf(rig, {.depth = 2});
  for (std::uint64_t tag = 0; tag < 1'000; ++tag) {
    rde_request nop = nop_request();
    nop.tag = tag;
    deaf.send(nop);
  }
  check_served(*healthy);
}

TEST_CASE("a lap that is not the next is not a request, whatever the slot holds") {
  Rig rig;
  RawChannel raw(rig, {.depth = 8});
  auto* slot = raw.view().requests(0);
  for (const std::uint32_t lap : {0U, 2U, 3U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    slot->op = RDE_OP_NOP;
    store_release(&slot->lap, lap);
    raw.wake();
    usleep(2'000);
    REQUIRE_FALSE(raw.poll());
  }
  CHECK(raw.serves());  // writes the right lap into that slot
  CHECK(eventually([&] { return rig.stats().requests == 1; }));
}

TEST_CASE("all laps of a ring forged at once are taken once each, in bounded turns") {
  Rig rig;
  const auto healthy = rig.attach();
  RawChannel raw(rig, {.depth = 64});
  for (std::uint32_t i = 0; i < 64; ++i) {
    raw.view().requests(0)[i] = nop_request();
    store_release(&raw.view().requests(0)[i].lap, 1U);
  }
  raw.wake();
  REQUIRE(eventually([&] { return rig.stats().requests == 64; }));
  check_served(*healthy);
  CHECK(eventually([&] { return rig.stats().requests == 114; }));
}

TEST_CASE("words of the engine that a client overwrites are not believed") {
  Rig rig;
  RawChannel raw(rig);
  const auto& view = raw.view();
  CHECK(raw.serves());
  std::memset(view.engine_page(), 0xFF, sizeof(rde_engine_page));
  std::memset(view.counters().data(), 0xFF, view.counters().size_bytes());
  std::memset(view.recorder(), 0xFF, sizeof(rde_recorder_head));
  auto* lines = raw.lines();
  store_relaxed(&lines->requests_taken, ~std::uint64_t{0});
  store_relaxed(&lines->completions_posted, ~std::uint64_t{0});
  store_relaxed(&lines->in_flight, ~std::uint64_t{0});
  store_relaxed(&lines->shard, 0xFFFFFFFFU);
  store_relaxed(&lines->request_cold, 0xFFFFFFFFU);
  store_relaxed(&view.shard_doorbell(0)->sleep, 0xFFFFFFFFU);
  auto* header = reinterpret_cast<rde_segment_header*>(raw.attachment().mapping.bytes().data());
  std::memset(header, 0xFF, sizeof *header);
  for (int i = 0; i < 20; ++i) CHECK(raw.serves());
}

TEST_CASE("bits for channels that a segment does not have are dropped") {
  Rig rig;
  RawChannel raw(rig);
  for (auto& word : raw.view().shard_doorbell(0)->bits) store_seq_cst(&word, ~std::uint64_t{0});
  raw.wake();
  CHECK(raw.serves());
}

TEST_CASE("a client whose sleep word flickers gets wake-ups, and no call of the engine blocks") {
  Rig rig;
  const auto healthy = rig.attach();
  RawChannel raw(rig);
  auto* bell = raw.view().client_doorbell();
  store_seq_cst(&raw.lines()->completion_cold, 1U);
  // Nobody reads the wake socket: it fills.
  for (std::uint32_t i = 0; i < 600; ++i) {
    store_seq_cst(&bell->sleep, 2 * i + 1);
    REQUIRE(raw.serves());
  }
  CHECK(rig.stats().wakeups_sent >= 500);
  check_served(*healthy);
}

TEST_CASE("a client that rings without cease does not keep the others from being served") {
  Rig rig;
  const auto healthy = rig.attach();
  RawChannel raw(rig);
  std::atomic<bool> stop{false};
  std::thread ringer([&] {
    while (!stop) raw.wake();
  });
  check_served(*healthy);
  stop = true;
  ringer.join();
}

TEST_CASE("pings of a mebibyte on many channels do not hold up another client for long") {
  Rig rig({.mode = PollMode::adaptive});
  const auto healthy = rig.attach();
  const auto attachment =
      std::make_shared<Attachment>(attach_raw(rig.socket(), {.segment_size = 16 << 20, .channels = 64, .depth = 64}));
  std::vector<std::unique_ptr<RawChannel>> channels;
  for (std::uint32_t i = 0; i < 64; ++i) channels.push_back(std::make_unique<RawChannel>(attachment, i));
  rde_request ping{};
  ping.op = RDE_OP_PING;
  ping.length = 1 << 20;
  constexpr int kHealthyPings = 50;
  rig.on_shard([&](FakeIo&) {  // the shard finds all of them at once
    for (auto& channel : channels) {
      for (std::uint64_t tag = 0; tag < 64; ++tag) {
        ping.tag = tag;
        channel->send(ping);
      }
    }
    rde_request small{};
    small.op = RDE_OP_PING;
    for (int i = 0; i < kHealthyPings; ++i) REQUIRE(healthy->channel(0).submit(small));
  });
  // Four thousand pings of a mebibyte are under way. In each turn the other client has its share before one more is
  // taken, so its own pass while most of them still wait. A ping's value is when it was answered.
  std::uint64_t healthy_done = 0;
  for (int i = 0; i < kHealthyPings; ++i) healthy_done = next_completion(*healthy).value;
  int before = 0;
  for (auto& channel : channels) {
    for (int i = 0; i < 64; ++i) before += channel->next().value < healthy_done ? 1 : 0;
  }
  CHECK(before < 3'000);
}

TEST_CASE("random requests never stop the engine, and another client never sees an error") {
  Rig rig({.mode = PollMode::adaptive});
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto healthy = rig.attach();
  std::mt19937_64 random(11);
  const Nanoseconds end = now_ns() + 2 * kSecond;
  while (now_ns() < end) {
    RawChannel raw(rig, {.depth = 64});
    for (int burst = 0; burst < 50; ++burst) {
      for (int i = 0; i < 32; ++i) {
        rde_request request;
        auto* words = reinterpret_cast<std::uint64_t*>(&request);
        for (std::size_t word = 0; word < sizeof request / 8; ++word) words[word] = random();
        // Mostly plausible, so that the checks behind the first one are reached too.
        if (random() % 8 != 0) request.reserved = 0;
        if (random() % 4 != 0) request.op = static_cast<std::uint8_t>(random() % 10);
        if (random() % 4 != 0) request.flags &= 1;
        if (random() % 4 != 0) request.priority &= 1;
        if (random() % 2 != 0) std::memset(request.args + random() % (sizeof request.args - 7), 0, 8);
        if (random() % 2 != 0) request.handle = 0;
        if (random() % 2 != 0) request.deadline_ns = now_ns() + random() % 1000;
        if (random() % 2 != 0) request.buffer_page %= 600;
        if (random() % 2 != 0) request.length %= 9000;
        request.tag %= 64;
        raw.send(request);
      }
      while (raw.poll()) {
      }
      if (raw.faulted()) break;
    }
    REQUIRE(healthy->channel(0).submit(nop_request()));
    REQUIRE(next_completion(*healthy).status == Status::ok);
  }
}

TEST_CASE(
    "a slot that changes while it is being read is one request or another, never a mixture that was not checked") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  RawChannel raw(rig, {.depth = 8});
  std::atomic<bool> stop{false};
  const auto pages = static_cast<std::uint32_t>(raw.view().header().arena_size / RDE_ARENA_PAGE);
  std::thread attacker([&] {
    bool wild = false;
    while (!stop) {
      wild = !wild;
      for (std::uint32_t i = 0; i < 8; ++i) {
        auto* slot = &raw.view().requests(0)[i];
        store_relaxed(&slot->length, wild ? 0xFFFFFFF0U : 4096U);
        store_relaxed(&slot->buffer_page, wild ? 0xFFFFFFF0U : pages - 1);
      }
    }
  });
  int served = 0;
  for (std::uint64_t tag = 0; tag < 1'000; ++tag) {
    auto request = read_of(tag);
    request.buffer_page = pages - 1;
    request.length = 4096;
    const auto status = raw.answer(request);
    REQUIRE((status == Status::ok || status == Status::buffer_out_of_range));
    served += status == Status::ok ? 1 : 0;
  }
  stop = true;
  attacker.join();
  CHECK(served > 0);
}

TEST_CASE("two hundred idle clients are attached, and one more is served as ever") {
  Rig rig;
  std::vector<std::unique_ptr<Client>> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(rig.attach());
  CHECK(eventually([&] { return rig.stats().clients == 200; }));
  const auto active = rig.attach();
  check_served(*active);
  check_served(*idle[137]);
  const auto listed = list_clients(rig.socket());
  REQUIRE_MESSAGE(listed, listed.error().text);
  CHECK(listed->size() == 201);
}
