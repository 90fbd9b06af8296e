// Two engines over UCX and real sockets on loopback.
#include <thread>

#include "engines.h"
#include "transport/ucx/ucx_transport.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr Nanoseconds kWatchdog = 60 * kSecond;

struct TcpEngines {
  MemorySource source;
  Arena staging{16 << 20};
  Arena arena{32 << 20};
  std::unique_ptr<UcxTransport> storage_transport = *UcxTransport::create({.devices = {"lo"}});
  std::unique_ptr<UcxTransport> gateway_transport = *UcxTransport::create({.devices = {"lo"}});
  std::unique_ptr<PeerHub> storage;
  std::unique_ptr<PeerHub> gateway;
  SocketAddress where;
  Memory* memory = nullptr;
  Handle peer;

  explicit TcpEngines(std::string_view key = "a shared secret") {
    storage = *PeerHub::create({*storage_transport, &source, &source, staging.bytes()}, options_of(1, key));
    gateway = *PeerHub::create({*gateway_transport, nullptr, nullptr, {}}, options_of(2, key));
    memory = *gateway_transport->add_memory(arena.bytes());
    where = *storage->listen(*resolve({"127.0.0.1", 0}));
  }
  ~TcpEngines() {
    gateway_transport->remove_memory(memory);
    gateway.reset();
    storage.reset();
  }
  template <class Condition>
  void until(Condition condition) {
    const Nanoseconds end = now_ns() + kWatchdog;
    while (!condition()) {
      REQUIRE_MESSAGE(now_ns() < end, "the watchdog ended a wait");
      source.progress();
      storage->progress(now_ns());
      gateway->progress(now_ns());
    }
  }
  void join() {
    peer = *gateway->add_static(where);
    until([&] { return gateway->state(peer) == Status::ok; });
  }
  void read(TestJob& job, std::uint64_t needle, std::size_t length, std::size_t at) {
    job.id = {7, needle, 0};
    job.destination = arena.bytes().subspan(at, length);
    gateway->submit(peer, job, *memory);
  }
};

}  // namespace

TEST_CASE("over TCP objects of every size come whole, many at a time") {
  TcpEngines engines;
  const std::size_t sizes[] = {1, 4096, 65'536, 65'537, 1 << 20, 3'000'001, 16 << 20};
  std::uint64_t needle = 0;
  for (const std::size_t size : sizes) engines.source.put(7, ++needle, pattern(size, static_cast<unsigned>(size)));
  engines.join();
  CHECK(engines.gateway->find_volume(7) == engines.peer);
  for (int round = 0; round < 3; ++round) {
    std::deque<TestJob> jobs(std::size(sizes));
    std::size_t at = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      engines.read(jobs[i], i + 1, sizes[i], at);
      at += sizes[i];
    }
    engines.until([&] { return std::ranges::all_of(jobs, [](const TestJob& job) { return job.done == 1; }); });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      CHECK(jobs[i].status == Status::ok);
      CHECK(jobs[i].bytes == sizes[i]);
      CHECK(same_bytes(jobs[i].destination, engines.source.object(7, i + 1)));
    }
  }
}

TEST_CASE("over TCP cancelled reads leave link, credits and memory in order") {
  TcpEngines engines;
  engines.source.put(7, 1, pattern(8 << 20, 1));
  engines.source.put(7, 2, pattern(1 << 20, 2));
  engines.join();
  for (unsigned round = 0; round < 60; ++round) {
    TestJob job;
    engines.read(job, 1, 8 << 20, 0);
    for (unsigned i = 0; i < round; ++i) engines.until([n = 0]() mutable { return n++ == 1; });
    engines.gateway->cancel(job);
    engines.until([&] { return job.done == 1; });
    CHECK((job.status == Status::cancelled || job.status == Status::ok));
    TestJob next;
    engines.read(next, 2, 1 << 20, 0);
    engines.until([&] { return next.done == 1; });
    CHECK(next.status == Status::ok);
    CHECK(same_bytes(next.destination, engines.source.object(7, 2)));
  }
  engines.until([&] { return engines.gateway->list()[0].in_flight == 0 && !engines.storage->busy(); });
  CHECK(engines.storage->responder().staging_in_use() == 0);
  CHECK(engines.gateway->counts().connects == 1);
}

TEST_CASE("over TCP a peer that goes away ends its jobs, and is found again") {
  TcpEngines engines;
  engines.source.put(7, 1, pattern(16 << 20, 1));
  engines.join();
  TestJob job;
  engines.read(job, 1, 16 << 20, 0);
  engines.until([&] { return engines.source.seen.size() >= 4; });
  engines.storage.reset();
  engines.source.forget();
  engines.storage_transport = *UcxTransport::create({.devices = {"lo"}});
  engines.storage =
      *PeerHub::create({*engines.storage_transport, &engines.source, &engines.source, engines.staging.bytes()},
                       options_of(5, "a shared secret"));
  REQUIRE(engines.storage->listen(engines.where));
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::peer_down);
  engines.until([&] { return engines.gateway->state(engines.peer) == Status::ok; });
  TestJob next;
  engines.read(next, 1, 16 << 20, 0);
  engines.until([&] { return next.done == 1; });
  CHECK(next.status == Status::ok);
}

TEST_CASE("over TCP another key is refused") {
  TcpEngines engines;
  auto wrong = *PeerHub::create({*engines.gateway_transport, nullptr, nullptr, {}}, options_of(3, "another secret"));
  Opened opened;
  REQUIRE(wrong->open(engines.where, &opened));
  engines.until([&] {
    wrong->progress(now_ns());
    return opened.statuses.size() == 1;
  });
  CHECK(opened.statuses[0] == Status::authentication_failed);
}
