// Slices, fairness, credits, deadlines and late completions.
#include "engines.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr SimFabric::Pace kTenGigabit{.latency = 10 * kMicrosecond, .bytes_per_second = 1'250'000'000};

}  // namespace

TEST_CASE("a large read keeps no more slices in flight than it may") {
  Engines engines;
  engines.source.put(7, 1, pattern(8 << 20, 1));
  engines.join();
  engines.source.holds = true;
  TestJob job;
  engines.read(job, 1, 8 << 20);
  engines.pass(kMillisecond);
  CHECK(engines.source.waiting() == 2);
  for (const ObjectJob* slice : engines.source.seen) CHECK(slice->destination.size() == 1 << 20);
  engines.source.holds = false;
  engines.until([&] { return job.done == 1; });
  CHECK(engines.source.seen.size() == 8);
}

TEST_CASE("large reads go in smaller slices while there are small reads beside them") {
  std::deque<TestJob> jobs(3);  // outlive the engines
  Engines engines;
  engines.source.put(7, 1, pattern(4 << 20, 1));
  engines.source.put(7, 2, pattern(4096, 2));
  engines.join();
  const auto slices_of_large = [&](TestJob& job) {
    engines.source.seen.clear();
    engines.read(job, 1, 4 << 20);
    engines.until([&] { return job.done == 1; });
    CHECK(job.status == Status::ok);
    return engines.source.seen.size();
  };
  TestJob small;
  engines.read(small, 2, 4096);
  engines.until([&] { return small.done == 1; });
  CHECK(slices_of_large(jobs[0]) == 16);
  engines.pass(PeerOptions{}.small_is_recent);
  CHECK(slices_of_large(jobs[1]) == 4);
}

TEST_CASE("a small read does not wait behind large ones") {
  std::deque<TestJob> large(4);  // outlive the engines
  Engines engines;
  engines.fabric.set_pace(kTenGigabit);
  engines.source.put(7, 1, pattern(16 << 20, 1));
  engines.source.put(7, 2, pattern(4096, 2));
  engines.join();
  for (auto& job : large) engines.read(job, 1, 16 << 20);
  engines.pass(5 * kMillisecond);
  TestJob small;
  const Nanoseconds begin = engines.time;
  engines.read(small, 2, 4096);
  engines.until([&] { return small.done == 1; });
  // Two slices of 1 MiB may be on the line before it: 1.7 ms here. All four objects take 54 ms.
  CHECK(engines.time - begin < 3 * kMillisecond);
  CHECK(std::ranges::none_of(large, [](const TestJob& job) { return job.done != 0; }));
}

TEST_CASE("large reads take turns, so a short one ends long before a long one") {
  TestJob big, short_one;  // outlive the engines
  Engines engines;
  engines.fabric.set_pace(kTenGigabit);
  engines.source.put(7, 1, pattern(16 << 20, 1));
  engines.source.put(7, 2, pattern(2 << 20, 2));
  engines.join();
  engines.read(big, 1, 16 << 20);
  engines.read(short_one, 2, 2 << 20);
  engines.until([&] { return short_one.done == 1; });
  CHECK(big.done == 0);
  CHECK(engines.source.seen.size() <= 8);
}

TEST_CASE("foreground goes before bulk, and bulk is not starved") {
  Engines engines;
  engines.source.put(7, 1, pattern(1 << 20, 1));
  engines.join();
  engines.source.holds = true;
  std::deque<TestJob> jobs(32);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].bulk = i < 12;  // bulk came first
    engines.read(jobs[i], 1, 1 << 20);
  }
  engines.pass(kMillisecond);
  std::vector<bool> order;
  engines.source.tamper = [&](ObjectJob& job) { order.push_back(job.bulk); };
  engines.source.holds = false;
  engines.until([&] { return std::ranges::all_of(jobs, [](const TestJob& job) { return job.done == 1; }); });
  REQUIRE(order.size() == 32);
  // Two of bulk had gone before any other was there; then one in nine turns until foreground is through.
  CHECK(std::count(order.begin() + 2, order.begin() + 11, true) == 1);
  CHECK(std::count(order.begin(), order.begin() + 24, true) == 4);
}

TEST_CASE("requests beyond the credits of the peer wait on this side") {
  auto stingy = options_of(1);
  stingy.credits = 8;
  Engines engines(stingy);
  engines.source.put(7, 1, pattern(4096, 1));
  engines.join();
  engines.source.holds = true;
  std::deque<TestJob> jobs(50);
  for (std::size_t i = 0; i < jobs.size(); ++i) engines.read(jobs[i], 1, 4096, i * 4096);
  engines.pass(kMillisecond);
  CHECK(engines.source.waiting() == 6);  // two are kept for large reads
  CHECK(engines.gateway->list()[0].queued == 44);
  engines.source.holds = false;
  engines.until([&] { return std::ranges::all_of(jobs, [](const TestJob& job) { return job.done == 1; }); });
  for (const TestJob& job : jobs) CHECK(job.status == Status::ok);
}

TEST_CASE("a full queue answers peer_busy") {
  auto options = options_of(2);
  options.queued_jobs = 3;
  options.requests_in_flight = 8;
  Engines engines(options_of(1), options);
  engines.source.put(7, 1, pattern(4096, 1));
  engines.join();
  engines.source.holds = true;
  std::deque<TestJob> jobs(20);
  for (auto& job : jobs) engines.read(job, 1, 4096);
  engines.step();
  CHECK(std::ranges::count(jobs, Status::peer_busy, &TestJob::status) == 11);
  engines.source.holds = false;
  engines.until([&] { return std::ranges::all_of(jobs, [](const TestJob& job) { return job.done == 1; }); });
}

TEST_CASE("a deadline takes back what has not begun to land, and the credit comes back") {
  Engines engines;
  engines.source.put(7, 1, pattern(4 << 20, 1));
  engines.join();
  engines.source.holds = true;
  TestJob job;
  job.deadline = engines.time + 2 * kMillisecond;
  engines.read(job, 1, 4 << 20);
  engines.pass(kMillisecond);
  CHECK(job.done == 0);
  engines.pass(2 * kMillisecond);
  CHECK(job.done == 1);
  CHECK(job.status == Status::deadline_exceeded);
  engines.until([&] { return engines.gateway->list()[0].in_flight == 0; });
  CHECK(engines.source.cancels == 2);
  CHECK(engines.storage->responder().staging_in_use() == 0);
  engines.source.holds = false;
  TestJob next;
  engines.read(next, 1, 4 << 20);
  engines.until([&] { return next.done == 1; });
  CHECK(next.status == Status::ok);
}

TEST_CASE("a cancelled job ends once, and its late bytes never reach memory that is used again") {
  Engines engines;
  engines.source.put(7, 1, std::vector<std::byte>(1 << 20, std::byte{0xEE}));
  engines.source.put(7, 2, pattern(1 << 20, 2));
  engines.join();
  engines.fabric.hold_transfers(5 * kSecond);
  TestJob late;
  engines.read(late, 1, 1 << 20);
  engines.pass(kMillisecond);  // the transfer has begun
  engines.fabric.hold_transfers(0);
  engines.gateway->cancel(late);
  engines.pass(kMillisecond);
  CHECK(late.done == 0);  // its memory is still the fabric's

  // Meanwhile other reads use other memory, and see nothing of it.
  for (int i = 0; i < 20; ++i) {
    TestJob other;
    engines.read(other, 2, 1 << 20, 2 << 20);
    engines.until([&] { return other.done == 1; });
    CHECK(other.status == Status::ok);
    CHECK(same_bytes(other.destination, engines.source.object(7, 2)));
  }
  CHECK(late.done == 0);
  engines.pass(6 * kSecond);
  CHECK(late.done == 1);
  CHECK(late.status == Status::cancelled);
  // From here on the memory is the reader's again.
  TestJob reuse;
  engines.read(reuse, 2, 1 << 20);
  engines.until([&] { return reuse.done == 1; });
  engines.pass(6 * kSecond);
  CHECK(same_bytes(reuse.destination, engines.source.object(7, 2)));
}

TEST_CASE("a deadline amid a transfer waits for the transfer to end") {
  Engines engines;
  engines.source.put(7, 1, pattern(1 << 20, 1));
  engines.join();
  engines.fabric.hold_transfers(5 * kSecond);
  TestJob job;
  job.deadline = engines.time + 10 * kMillisecond;
  engines.read(job, 1, 1 << 20);
  engines.pass(kSecond);
  CHECK(job.done == 0);
  engines.pass(5 * kSecond);
  CHECK(job.done == 1);
  CHECK(job.status == Status::deadline_exceeded);
}

TEST_CASE("cancelling crosses with the answer and nothing is lost") {
  for (int after = 0; after < 60; ++after) {
    CAPTURE(after);
    Engines engines;
    engines.source.put(7, 1, pattern(100'000, 1));
    engines.join();
    TestJob job;
    engines.read(job, 1, 100'000);
    for (int i = 0; i < after; ++i) engines.step();
    engines.gateway->cancel(job);
    engines.until([&] { return job.done != 0; });
    engines.pass(kMillisecond);
    CHECK(job.done == 1);
    CHECK((job.status == Status::cancelled || job.status == Status::ok));
    CHECK(engines.gateway->list()[0].in_flight == 0);
    CHECK(engines.storage->responder().active() == 0);
    CHECK(engines.gateway->state(engines.peer) == Status::ok);
  }
}

TEST_CASE("a frozen peer costs the healthy one nothing") {
  Engines engines;
  engines.source.put(7, 1, pattern(100'000, 1));
  engines.join();
  SimTransport second_transport(engines.fabric);
  MemorySource second_source;
  second_source.put(8, 1, pattern(100'000, 1));
  Arena staging(8 << 20);
  auto second = *PeerHub::create({second_transport, &second_source, &second_source, staging.bytes()}, options_of(3));
  const auto where = *second->listen(*resolve({"127.0.0.1", 0}));
  const Handle frozen = *engines.gateway->add_static(where);
  const auto step_all = [&] {
    second_source.progress();
    second->progress(engines.time);
    engines.step();
  };
  while (engines.gateway->state(frozen) != Status::ok) step_all();
  engines.fabric.freeze(second_transport);
  std::deque<TestJob> stuck(500);
  for (auto& job : stuck) {
    job.id = {8, 1, 0};
    job.destination = engines.arena.bytes().last(100'000);
    job.deadline = engines.time + 3600 * kSecond;
    engines.gateway->submit(frozen, job, *engines.memory);
  }
  for (int i = 0; i < 200; ++i) {
    TestJob job;
    engines.read(job, 1, 100'000);
    engines.until([&] { return job.done == 1; });
    CHECK(job.status == Status::ok);
  }
  CHECK(std::ranges::none_of(stuck, [](const TestJob& job) { return job.done != 0; }));
  engines.pass(20 * kSecond);
  for (const TestJob& job : stuck) CHECK(job.status == Status::peer_down);
  second.reset();
}

TEST_CASE("peers share the staging memory of a storage engine in turns") {
  std::deque<TestJob> first_jobs(20), second_jobs(2);  // outlive the engines
  Engines engines;
  engines.source.put(7, 1, pattern(1 << 20, 1));
  engines.join();
  SimTransport second_transport(engines.fabric);
  auto second = *PeerHub::create({second_transport, nullptr, nullptr, {}}, options_of(3));
  Memory* memory = *second_transport.add_memory(engines.arena.bytes());
  const Handle peer = *second->add_static(engines.where);
  const auto step_all = [&] {
    second->progress(engines.time);
    engines.step();
  };
  while (second->state(peer) != Status::ok) step_all();
  engines.source.holds = true;
  for (auto& job : first_jobs) engines.read(job, 1, 1 << 20);
  engines.pass(kMillisecond);
  for (auto& job : second_jobs) {
    job.id = {7, 1, 0};
    job.destination = engines.arena.bytes().last(1 << 20);
    second->submit(peer, job, *memory);
  }
  for (int i = 0; i < 100; ++i) step_all();
  CHECK(engines.source.waiting() == 4);  // two of each
  engines.source.holds = false;
  while (second_jobs[0].done + second_jobs[1].done != 2) step_all();
  CHECK(std::ranges::count(first_jobs, 1U, &TestJob::done) < 20);
  second.reset();
}
