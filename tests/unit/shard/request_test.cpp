// What becomes of a request: at once, later, in two steps.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "attach/hello.h"
#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

// Long enough that a request is taken before it, also where the machine is busy.
constexpr Nanoseconds kSoon = 50 * kMillisecond;

// A read that the fake holds; answers its tag.
std::uint64_t held_read(Rig& rig, Client& client, const Buffer& buffer, Nanoseconds deadline = 0) {
  auto request = read_request(9, buffer);
  request.deadline_ns = deadline;
  const auto before = rig.counts().submitted.load();
  const auto tag = client.channel(0).submit(request);
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == before + 1; }));
  return *tag;
}

}  // namespace

TEST_CASE("a read ends with what its source answered") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(5000);
  REQUIRE(buffer);
  const auto tag = held_read(rig, *client, *buffer);
  rig.on_shard([&](FakeIo& io) { CHECK(io.finish(tag, Status::ok, 4321, RDE_COMPLETION_FLAG_GZIP)); });
  const auto done = next_completion(*client);
  CHECK(done.tag == tag);
  CHECK(done.status == Status::ok);
  CHECK(done.flags == RDE_COMPLETION_FLAG_GZIP);
  CHECK(done.bytes == 4321);
  CHECK(done.crc == 0xC0FFEE);
  CHECK(done.value == 1'000'000);
  CHECK(done.returns_buffer);
}

TEST_CASE("a job names what the request named") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(3 * RDE_ARENA_PAGE);
  REQUIRE(buffer);
  auto request = read_request(0x0102030405060708, *buffer);
  request.flags = RDE_REQUEST_FLAG_SKIP_CRC;
  request.priority = RDE_PRIORITY_BULK;
  request.deadline_ns = now_ns() + 3600 * kSecond;
  rde_object_args args{0x0102030405060708, 3, 0xAABBCCDD, ~std::uint64_t{0}};
  std::memcpy(request.args, &args, sizeof args);
  const auto tag = client->channel(0).submit(request);
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  rig.on_shard([&](FakeIo& io) {
    const Operation* job = io.job(*tag);
    CHECK(job != nullptr);
    if (job == nullptr) return;
    CHECK(job->kind == ObjectJob::Kind::read);
    CHECK(job->skip_crc);
    CHECK(job->bulk);
    CHECK(job->id.volume == 3);
    CHECK(job->id.needle == 0x0102030405060708);
    CHECK(job->id.cookie == 0xAABBCCDD);
    CHECK(job->offset == ~std::uint64_t{0});
    CHECK(job->destination.size() == 3 * RDE_ARENA_PAGE);
    CHECK(job->deadline == request.deadline_ns);
    io.finish_all(Status::ok);
  });
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("a request that names no deadline gets the engine's") {
  Rig rig({.default_deadline = 7 * kSecond});
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer);
  rig.on_shard([&](FakeIo& io) {
    CHECK(io.job(tag)->deadline > now_ns());
    CHECK(io.job(tag)->deadline <= now_ns() + 7 * kSecond);
    io.finish_all(Status::ok);
  });
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("a deadline is counted from when the request is taken, also where the engine stood still before") {
  Rig rig({.default_deadline = 7 * kSecond});
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  Nanoseconds thawed = 0;
  std::uint64_t tag = 0;
  rig.on_shard([&](FakeIo&) {
    tag = *client->channel(0).submit(read_request(1, *buffer));
    usleep(50'000);
    thawed = now_ns();
  });
  REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  rig.on_shard([&](FakeIo& io) {
    CHECK(io.job(tag)->deadline >= thawed + 7 * kSecond);
    io.finish_all(Status::ok);
  });
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("a deadline answers the caller first and returns the buffer when the source has let go of it") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto buffer = client->allocate(8192);
  const auto tag = held_read(rig, *client, *buffer, now_ns() + kSoon);
  const auto first = next_completion(*client);
  CHECK(first.tag == tag);
  CHECK(first.status == Status::deadline_exceeded);
  CHECK(first.flags == RDE_COMPLETION_FLAG_MORE);
  CHECK(first.ends);
  CHECK_FALSE(first.returns_buffer);
  CHECK(rig.counts().cancelled == 1);
  CHECK(rig.stats().quarantined == 1);
  CHECK(rig.stats().quarantined_bytes == 8192);

  rig.on_shard([&](FakeIo& io) { CHECK(io.finish(tag, Status::ok, 8192)); });
  const auto second = next_completion(*client);
  CHECK(second.tag == tag);
  CHECK(second.flags == RDE_COMPLETION_FLAG_BUFFER_FREE);
  CHECK(second.bytes == 0);
  CHECK(second.returns_buffer);
  CHECK_FALSE(second.ends);
  CHECK(rig.stats().quarantined == 0);
  CHECK(rig.stats().quarantined_bytes == 0);
  CHECK(rig.stats().deadlines == 1);
}

TEST_CASE("ten thousand others pass while a late transfer owns its buffer, and none sees its bytes") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) {
    io.automatic = false;
    io.obedient = false;
  });
  const auto late = client->allocate(4096);
  const auto tag = held_read(rig, *client, *late, now_ns() + kSoon);
  REQUIRE(next_completion(*client).status == Status::deadline_exceeded);
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  for (std::uint64_t needle = 1; needle <= 10'000; ++needle) {
    const auto buffer = client->allocate(1000);
    REQUIRE(buffer);
    REQUIRE(buffer->page != late->page);
    REQUIRE(client->channel(0).submit(read_request(needle, *buffer)));
    const auto done = next_completion(*client);
    REQUIRE(done.status == Status::ok);
    REQUIRE(std::ranges::all_of(buffer->bytes, [&](auto byte) { return byte == FakeIo::fill_of(needle); }));
    client->release(*buffer);
    if (needle == 5'000) {
      rig.on_shard([&](FakeIo& io) {
        std::memset(io.job(tag)->destination.data(), 0xEE, 4096);  // the transfer is not over
      });
    }
  }
  CHECK(rig.stats().quarantined == 1);
  rig.on_shard([&](FakeIo& io) { io.finish(tag, Status::ok, 4096); });
  CHECK(next_completion(*client).returns_buffer);
  CHECK(rig.stats().quarantined == 0);
}

TEST_CASE("a deadline that has passed is answered at once and nothing is begun") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  for (const Nanoseconds deadline : {Nanoseconds{1}, now_ns() - kSecond}) {
    auto request = read_request(1, *buffer);
    request.deadline_ns = deadline;
    REQUIRE(client->channel(0).submit(request));
    const auto done = next_completion(*client);
    CHECK(done.status == Status::deadline_exceeded);
    CHECK(done.returns_buffer);
  }
  CHECK(rig.counts().submitted == 0);
}

TEST_CASE("the last moment that there is serves as a deadline") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer, ~Nanoseconds{0});
  rig.on_shard([&](FakeIo& io) { CHECK(io.finish(tag, Status::ok, 100)); });
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("CANCEL ends a request at once, and the buffer comes back with the transfer's end") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer);
  const auto cancel = client->channel(0).cancel(tag);
  REQUIRE(cancel);
  const auto first = next_completion(*client);
  CHECK(first.tag == tag);
  CHECK(first.status == Status::cancelled);
  CHECK(first.flags == RDE_COMPLETION_FLAG_MORE);
  const auto second = next_completion(*client);
  CHECK(second.tag == *cancel);
  CHECK(second.status == Status::ok);
  CHECK(rig.stats().cancelled == 1);
  rig.on_shard([&](FakeIo& io) { io.finish(tag, Status::cancelled); });
  CHECK(next_completion(*client).flags == RDE_COMPLETION_FLAG_BUFFER_FREE);
}

TEST_CASE("CANCEL of what has ended, is quarantined or never was says no_such_request") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  REQUIRE(client->channel(0).cancel(12345));
  CHECK(next_completion(*client).status == Status::no_such_request);

  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer, now_ns() + kSoon);
  CHECK(next_completion(*client).status == Status::deadline_exceeded);
  REQUIRE(client->channel(0).cancel(tag));
  CHECK(next_completion(*client).status == Status::no_such_request);
  CHECK(rig.counts().cancelled == 1);  // once, by the deadline
  rig.on_shard([&](FakeIo& io) { io.finish(tag, Status::ok); });
  CHECK(next_completion(*client).returns_buffer);
  REQUIRE(client->channel(0).cancel(tag));
  CHECK(next_completion(*client).status == Status::no_such_request);
}

TEST_CASE("cancelling against the end of each read, every request ends exactly once and every buffer comes back") {
  Rig rig({.mode = PollMode::adaptive});
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  auto& channel = client->channel(0);
  const auto buffer = client->allocate(64);
  constexpr int kRounds = 400;
  int ends = 0;
  int returns = 0;
  int cancels = 0;
  for (int i = 0; i < kRounds; ++i) {
    const auto tag = channel.submit(read_request(1, *buffer));
    REQUIRE(tag);
    for (int pause = i % 50; pause > 0; --pause) cpu_relax();
    const auto cancel = channel.cancel(*tag);
    REQUIRE(cancel);
    bool cancel_ended = false;
    bool read_ended = false;
    bool returned = false;
    while (!cancel_ended || !read_ended || !returned) {
      const auto done = next_completion(*client);
      REQUIRE(done.status != Status::internal);
      if (done.tag == *cancel) {
        cancel_ended = true;
        ++cancels;
        continue;
      }
      ends += done.ends ? 1 : 0;
      returns += done.returns_buffer ? 1 : 0;
      read_ended |= done.ends;
      returned |= done.returns_buffer;
    }
  }
  CHECK(ends == kRounds);
  CHECK(returns == kRounds);
  CHECK(cancels == kRounds);
  CHECK(channel.outstanding() == 0);
  CHECK(channel.quarantined() == 0);
}

TEST_CASE("quarantined bytes of a client are capped, and reads go on when buffers come back") {
  Rig rig({.max_quarantined_bytes = 10'000});
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto buffer = client->allocate(8192);
  held_read(rig, *client, *buffer, now_ns() + kSoon);
  CHECK(next_completion(*client).status == Status::deadline_exceeded);
  held_read(rig, *client, *buffer, now_ns() + kSoon);
  CHECK(next_completion(*client).status == Status::deadline_exceeded);

  REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
  CHECK(next_completion(*client).status == Status::quarantine_full);

  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  CHECK(next_completion(*client).returns_buffer);
  CHECK(next_completion(*client).returns_buffer);
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("one client's quarantine does not stop another") {
  Rig rig({.max_quarantined_bytes = 100});
  const auto frozen = rig.attach();
  const auto healthy = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto buffer = frozen->allocate(8192);
  held_read(rig, *frozen, *buffer, now_ns() + kSoon);
  CHECK(next_completion(*frozen).status == Status::deadline_exceeded);
  REQUIRE(frozen->channel(0).submit(read_request(1, *buffer)));
  CHECK(next_completion(*frozen).status == Status::quarantine_full);
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto other = healthy->allocate(100);
  REQUIRE(healthy->channel(0).submit(read_request(1, *other)));
  CHECK(next_completion(*healthy).status == Status::ok);
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
}

TEST_CASE("one client cannot take the operations that others need") {
  Rig rig({.max_operations = 64});
  RawChannel greedy(rig, {.segment_size = 4 << 20, .channels = 4, .depth = 64});
  const auto polite = rig.attach();
  rde_request request = read_request(1, Buffer{0, {}});
  request.length = 100;
  int refused = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    request.tag = i;
    greedy.send(request);
  }
  for (int i = 0; i < 28; ++i) refused += Status{greedy.next().status} == Status::resource_exhausted ? 1 : 0;
  CHECK(refused == 28);  // 32 are under way
  const auto buffer = polite->allocate(100);
  held_read(rig, *polite, *buffer);
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  CHECK(next_completion(*polite).status == Status::ok);
}

TEST_CASE("a tag may be used again once its request has ended, and not before") {
  Rig rig;
  RawChannel raw(rig);
  rde_request request = read_request(1, Buffer{0, {}});
  request.length = 100;
  request.tag = 77;
  raw.send(request);
  CHECK(raw.answer(request) == Status::duplicate_tag);
  rde_request nop = nop_request();
  nop.tag = 77;
  CHECK(raw.answer(nop) == Status::duplicate_tag);
  rig.on_shard([](FakeIo& io) { CHECK(io.finish(77, Status::ok)); });
  CHECK(raw.next().tag == 77);
  CHECK(raw.answer(nop) == Status::ok);
}

TEST_CASE("counters and gauges of a client follow what it did") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  for (int i = 0; i < 10; ++i) {
    REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
    REQUIRE(next_completion(*client).status == Status::ok);
  }
  REQUIRE(client->channel(0).cancel(1));
  REQUIRE(next_completion(*client).status == Status::no_such_request);
  const auto value = [&](std::string_view label) -> std::uint64_t {
    for (const auto& counter : client->view().counters()) {
      if (get_text(counter.label) == label) return load_relaxed(&counter.value);
    }
    return ~std::uint64_t{0};
  };
  CHECK(eventually([&] { return value("requests") == 11; }));
  CHECK(value("completions") == 11);
  CHECK(value("failures") == 1);
  CHECK(value("bytes") == 1000);
  CHECK(value("operations") == 0);
  CHECK(load_relaxed(&client->view().engine_page()->heartbeat_ns) != 0);
}
