// The end of a shard: new work refused, running work ended, all within a bound.
#include <doctest/doctest.h>

#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

std::uint64_t held_read(Rig& rig, Client& client, const Buffer& buffer) {
  const auto before = rig.counts().submitted.load();
  const auto tag = client.channel(0).submit(read_request(9, buffer));
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == before + 1; }));
  return *tag;
}

}  // namespace

TEST_CASE("an idle shard stops at once, in every mode") {
  for (const auto mode : {PollMode::spin, PollMode::adaptive, PollMode::event}) {
    Rig rig({.mode = mode});
    const auto client = rig.attach();
    rig.stop_shard(3600 * kSecond);
    CHECK(rig.counts().draining);
    CHECK(rig.counts().arenas == 0);
    CHECK(load_acquire(&client->view().engine_page()->state) == RDE_ENGINE_STATE_DRAINING);
  }
}

TEST_CASE("a draining shard refuses new reads, answers the rest, and ends when the running one has ended") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer);
  auto stopper = rig.stop_shard_elsewhere(3600 * kSecond);
  REQUIRE(eventually([&] { return rig.counts().draining.load(); }));

  REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
  CHECK(next_completion(*client).status == Status::draining);
  auto stat = read_request(1, *buffer);
  stat.op = RDE_OP_OBJECT_STAT;
  REQUIRE(client->channel(0).submit(stat));
  CHECK(next_completion(*client).status == Status::draining);
  auto connect = nop_request();
  connect.op = RDE_OP_CONNECT;
  REQUIRE(client->channel(0).submit(connect));
  CHECK(next_completion(*client).status == Status::draining);
  REQUIRE(client->channel(0).submit(nop_request()));
  CHECK(next_completion(*client).status == Status::ok);

  rig.on_shard([&](FakeIo& io) { io.finish(tag, Status::ok, 100); });
  const auto done = next_completion(*client);
  CHECK(done.tag == tag);
  CHECK(done.status == Status::ok);
  stopper.join();
  CHECK(rig.counts().arenas == 0);
}

TEST_CASE("what does not end in time is cancelled and answered before the bound") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  const auto tag = held_read(rig, *client, *buffer);
  rig.stop_shard(200 * kMillisecond);
  const auto first = next_completion(*client);
  CHECK(first.tag == tag);
  CHECK(first.status == Status::draining);
  CHECK(first.flags == RDE_COMPLETION_FLAG_MORE);
  CHECK(next_completion(*client).returns_buffer);  // the fake obeys a cancel
  CHECK(rig.counts().arenas == 0);
}

TEST_CASE("a transfer that never ends cannot keep the shard from stopping, nor lose its segment before its source") {
  Rig rig;
  const auto client = rig.attach();
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto buffer = client->allocate(100);
  held_read(rig, *client, *buffer);
  rig.stop_shard(100 * kMillisecond);
  CHECK(next_completion(*client).status == Status::draining);
  CHECK(rig.counts().cancelled == 1);
  CHECK(rig.counts().arenas == 1);  // left to the source, which has ended the transfer by its own end
}

TEST_CASE("a source that is always busy cannot keep the shard from stopping, in every mode") {
  for (const auto mode : {PollMode::spin, PollMode::adaptive, PollMode::event}) {
    Rig rig({.mode = mode});
    rig.on_shard([](FakeIo& io) { io.always_busy = true; });
    rig.stop_shard(50 * kMillisecond);
    CHECK(rig.counts().draining);
  }
}

TEST_CASE("a client that submits without cease cannot keep the shard from stopping") {
  Rig rig({.mode = PollMode::adaptive});
  RawChannel raw(rig);
  std::atomic<bool> stop{false};
  std::thread submitter([&] {
    while (!stop) raw.send(nop_request());
  });
  rig.stop_shard(100 * kMillisecond);
  stop = true;
  submitter.join();
}

TEST_CASE("a shard that could not start says why, and can be destroyed") {
  Resolver resolver;
  const auto fail = []() -> Result<std::unique_ptr<ShardIo>> { return Error{Status::io_error, "refused by the test"}; };
  Shard shard({}, fail, resolver);
  const auto started = shard.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().text == "refused by the test");
  shard.post([](Shard&) { FAIL("ran"); });
  shard.stop(0);
}

TEST_CASE("a shard cannot be pinned to a processor that is not there, and says so") {
  Resolver resolver;
  IoCounts counts;
  ShardOptions options;
  options.cpu = 1023;
  Shard shard(
      options,
      [&]() -> Result<std::unique_ptr<ShardIo>> { return std::unique_ptr<ShardIo>(std::make_unique<FakeIo>(counts)); },
      resolver);
  const auto started = shard.start();
  REQUIRE_FALSE(started);
  CHECK(started.error().text.find("--cores") != std::string::npos);
  CHECK(started.error().text.find("1023") != std::string::npos);
}

TEST_CASE("a name that is looked up until after the shard has gone answers nobody") {
  std::promise<void> release;
  auto released = release.get_future().share();
  std::atomic<bool> asked{false};
  {
    Resolver resolver([&, released](const HostPort&) -> Result<SocketAddress> {
      asked = true;
      released.wait();
      return resolve({"127.0.0.1", 1});
    });
    IoCounts counts;
    bool answered = false;
    {
      Shard shard(
          {},
          [&]() -> Result<std::unique_ptr<ShardIo>> {
            return std::unique_ptr<ShardIo>(std::make_unique<FakeIo>(counts));
          },
          resolver);
      REQUIRE(shard.start());
      shard.post([&](Shard& inside) {
        inside.resolve_st(1, {"slow", 1}, [&](const Result<SocketAddress>&) { answered = true; });
      });
      REQUIRE(eventually([&] { return asked.load(); }));
    }
    release.set_value();
    usleep(10'000);
    CHECK_FALSE(answered);
  }
}
