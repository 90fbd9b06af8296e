// Modes, sleeping and waking. Times are never judged but for the share of the processor that an idle shard takes.
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <random>

#include "prim/socket.h"
#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr PollMode kModes[] = {PollMode::spin, PollMode::adaptive, PollMode::event};

void ask(Client& client, std::uint32_t channel = 0) {
  REQUIRE(client.channel(channel).submit(nop_request()));
  REQUIRE(next_completion(client, client.channel(channel)).status == Status::ok);
}

Nanoseconds processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_usec) * kMicrosecond;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

TEST_CASE("every mode answers, also after a pause in which it may have fallen asleep") {
  for (const auto mode : kModes) {
    for (const bool crowded : {false, true}) {
      Rig rig({.mode = mode, .crowded = crowded});
      const auto client = rig.attach();
      for (int i = 0; i < 5; ++i) {
        ask(*client);
        usleep(20'000);
      }
      CHECK(rig.stats().late_wakeups == 0);
      if (mode == PollMode::spin) {
        CHECK(rig.stats().sleeps == 0);
      } else {
        CHECK(eventually([&] { return rig.stats().sleeps > 0; }));
      }
    }
  }
}

TEST_CASE("no wake-up is lost between requests that come at random moments") {
  for (const auto mode : {PollMode::adaptive, PollMode::event}) {
    Rig rig({.mode = mode});
    const auto client = rig.attach({.channels = 3});
    std::mt19937 random(5);
    const Nanoseconds end = now_ns() + 1500 * kMillisecond;
    std::uint64_t asked = 0;
    while (now_ns() < end) {
      ask(*client, static_cast<std::uint32_t>(random() % 3));
      ++asked;
      const Nanoseconds until = now_ns() + random() % (200 * kMicrosecond);
      if (random() % 4 == 0) usleep(200);
      while (now_ns() < until) cpu_relax();
    }
    CHECK(eventually([&] { return rig.stats().requests == asked; }));
    CHECK(rig.stats().late_wakeups == 0);
    CHECK(load_relaxed(&client->view().shard_doorbell(0)->late_wakeups) == 0);
    CHECK(load_relaxed(&client->view().client_doorbell()->late_wakeups) == 0);
  }
}

TEST_CASE("three clients with a thread each lose no wake-up") {
  Rig rig({.mode = PollMode::event});
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (unsigned seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&failed, client = std::shared_ptr<Client>(rig.attach()), seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 500; ++i) {
        if (!client->channel(0).submit(nop_request())) ++failed;
        if (next_completion(*client).status != Status::ok) ++failed;
        if (random() % 8 == 0) usleep(static_cast<useconds_t>(random() % 500));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failed == 0);
  CHECK(rig.stats().late_wakeups == 0);
  CHECK(eventually([&] { return rig.stats().requests == 1'500; }));
}

TEST_CASE("a bit that is set without waking the engine is counted as a lost wake-up, and served all the same") {
  Rig rig({.mode = PollMode::event});
  RawChannel raw(rig);
  REQUIRE(eventually([&] { return rig.stats().sleeps > 1; }));
  usleep(20'000);
  RingWriter<rde_request> writer(raw.view().requests(0), raw.view().header().depth);
  writer.write(nop_request());
  full_fence();
  fetch_or_seq_cst(&raw.view().shard_doorbell(0)->bits[0], std::uint64_t{1});
  CHECK(Status{raw.next().status} == Status::ok);
  CHECK(eventually([&] { return load_relaxed(&raw.view().shard_doorbell(0)->late_wakeups) == 1; }));
  CHECK(rig.stats().late_wakeups == 1);
}

TEST_CASE("an idle shard takes a small share of a processor") {
  for (const auto mode : {PollMode::adaptive, PollMode::event}) {
    Rig rig({.mode = mode});
    const auto client = rig.attach({.segment_size = 8 << 20, .channels = 1000, .depth = 2});
    ask(*client, 500);
    usleep(200'000);  // falls asleep
    const Nanoseconds time = now_ns();
    const Nanoseconds used = processor_time();
    usleep(1'000'000);
    CHECK(processor_time() - used < (now_ns() - time) / 5);
    CHECK(rig.stats().late_wakeups == 0);
  }
}

TEST_CASE("a thousand idle channels go cold, and each of them is heard when it speaks") {
  for (const auto mode : kModes) {
    Rig rig({.mode = mode});
    const auto client = rig.attach({.segment_size = 8 << 20, .channels = 1000, .depth = 2});
    // One channel keeps the shard awake until the others are cold.
    const auto cold = [&] {
      std::uint32_t count = 0;
      for (std::uint32_t i = 0; i < 1000; ++i) count += load_relaxed(&client->view().channel(i)->request_cold);
      return count;
    };
    if (mode == PollMode::spin) REQUIRE(eventually([&] { return cold() >= 999; }));
    for (std::uint32_t i = 0; i < 1000; i += 37) ask(*client, i);
    for (std::uint32_t i = 0; i < 1000; i += 37) ask(*client, i);
    CHECK(rig.stats().late_wakeups == 0);
  }
}

TEST_CASE("everything on one processor still makes progress, in every mode") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  for (const auto mode : kModes) {
    Rig rig({.mode = mode});  // its threads inherit the processor
    const auto client = rig.attach();
    for (int i = 0; i < 100; ++i) ask(*client);
    CHECK(rig.stats().late_wakeups == 0);
  }
  sched_setaffinity(0, sizeof before, &before);
}

TEST_CASE("news of the source ends a sleep, though it is not busy and no request comes") {
  Rig rig({.mode = PollMode::event});
  const auto client = rig.attach();
  const auto buffer = client->allocate(100);
  const auto tag = client->channel(0).submit(read_request(1, *buffer));
  REQUIRE(tag);
  REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  int news = -1;
  rig.on_shard([&](FakeIo& io) {
    news = io.news();
    io.finish_at_news(*tag);
  });
  prim::ring_event(news);
  CHECK(next_completion(*client).status == Status::ok);
}

TEST_CASE("a source that always has news at arming is looked at again instead of slept on") {
  Rig rig({.mode = PollMode::event});
  rig.on_shard([](FakeIo& io) { io.refuse_arm = true; });
  const auto before = rig.counts().progressed.load();
  CHECK(eventually([&] { return rig.counts().progressed > before + 1000; }));
  rig.on_shard([](FakeIo& io) { io.refuse_arm = false; });
}

TEST_CASE("a timer of the source ends a sleep") {
  Rig rig({.mode = PollMode::event});
  rig.on_shard([](FakeIo& io) { io.timer = now_ns() + 20 * kMillisecond; });
  const auto armed = rig.counts().armed.load();
  CHECK(eventually([&] { return rig.counts().armed > armed + 5; }));  // sleeps of nothing, once it has passed
  rig.on_shard([](FakeIo& io) { io.timer = 0; });
}

TEST_CASE("tasks from other threads run in their order, also on a sleeping shard") {
  for (const auto mode : kModes) {
    Rig rig({.mode = mode});
    std::vector<int> order;
    for (int i = 0; i < 100; ++i) {
      rig.on_shard([&](FakeIo&) { order.push_back(i); });
    }
    CHECK(std::ranges::is_sorted(order));
    CHECK(order.size() == 100);
  }
}
