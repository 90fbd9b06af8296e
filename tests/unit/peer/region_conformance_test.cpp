// What uses of another engine's regions must do, over each transport. Built once for sim and TCP, and once for verbs.
#include <algorithm>
#include <array>
#include <deque>

#include "../transport/pairs.h"
#include "memory_source.h"
#include "peer/peer_hub.h"
#include "region/region_table.h"

#ifdef RDE_ONLY_VERBS
#define EVERY_PAIR VerbsPair
#elif RDE_HAS_UCX
#define EVERY_PAIR SimPair, TcpPair
#else
#define EVERY_PAIR SimPair
#endif

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::uint32_t kAll = RDE_REGION_RIGHT_READ | RDE_REGION_RIGHT_WRITE | RDE_REGION_RIGHT_ATOMIC;
constexpr std::uint64_t kOwner = 1;

struct UseJob final : RegionJob {
  virtual ~UseJob() = default;
  void on_done() override { ++done; }
  unsigned done = 0;
};

PeerOptions options_with_key(std::uint64_t engine) {
  PeerOptions options;
  options.engine = engine;
  const auto key = bytes_of("a key that both have");
  options.psk.assign(key.begin(), key.end());
  return options;
}

// An engine whose client has exposed a region, and one whose client uses it.
template <class Pair>
struct Regions {
  Pair pair;
  Arena staging{12 << 20};
  Arena exposed{4 << 20};
  Arena arena{8 << 20};
  RegionTable table{77};
  std::unique_ptr<PeerHub> owner;
  std::unique_ptr<PeerHub> user;
  Memory* memory = nullptr;
  Handle peer;
  rde_region_token token{};

  explicit Regions(std::uint32_t rights = kAll, bool serves = true) {
    owner = *PeerHub::create({pair.storage(), nullptr, nullptr, staging.bytes(), serves ? &table : nullptr},
                             options_with_key(1));
    user = *PeerHub::create({pair.gateway(), nullptr, nullptr, {}}, options_with_key(2));
    memory = *pair.gateway().add_memory(arena.bytes());
    const auto where = owner->listen(Pair::any_port());
    REQUIRE_MESSAGE(where, where.error().text);
    peer = *user->add_static(*where);
    until([&] { return user->state(peer) == Status::ok; });
    const auto made =
        table.expose({.owner = kOwner, .bytes = exposed.bytes(), .rights = rights, .expires = ~Nanoseconds{0}});
    REQUIRE(made.status == Status::ok);
    token = made.token;
  }
  ~Regions() {
    user->stop();
    until([&] { return user->is_stopped(); });
    pair.gateway().remove_memory(memory);
    user.reset();
    owner.reset();
  }
  // The pair's clock is its own; hubs only look at what their transports bring, and at deadlines.
  void step() {
    time += 2 * kMicrosecond;
    owner->progress(now());
    user->progress(now());
  }
  [[nodiscard]] Nanoseconds now() const {
    if constexpr (std::is_same_v<Pair, SimPair>) return time;
    return now_ns();
  }
  Nanoseconds time = kSecond;

  template <class Condition>
  void until(Condition condition) {
    const Nanoseconds end = now_ns() + kWatchdog;
    while (!condition()) {
      REQUIRE_MESSAGE(now_ns() < end, "the watchdog ended a wait");
      step();
    }
  }
  void submit(UseJob& job, RegionJob::Kind kind, std::uint64_t offset, std::span<std::byte> buffer = {}) {
    job.kind = kind;
    job.token = token;
    job.offset = offset;
    job.buffer = buffer;
    user->submit(peer, job, *memory);
  }
  Status run(UseJob& job, RegionJob::Kind kind, std::uint64_t offset, std::span<std::byte> buffer = {}) {
    const unsigned before = job.done;
    submit(job, kind, offset, buffer);
    until([&] { return job.done == before + 1; });
    return job.status;
  }
  std::uint64_t add(std::uint64_t offset, std::uint64_t by) {
    UseJob job;
    job.operand = by;
    REQUIRE(run(job, RegionJob::Kind::fetch_add, offset) == Status::ok);
    return job.value;
  }
  void revoke() {
    REQUIRE(table.close(Handle::from(token.region), kOwner, RegionEnd::revoked) == Status::ok);
    REQUIRE(!table.is_pinned(Handle::from(token.region)));
  }
  void clean() {
    until([&] { return !owner->busy() && user->list()[0].in_flight == 0; });
    CHECK(owner->responder().staging_in_use() == 0);
    CHECK(user->state(peer) == Status::ok);
    CHECK(user->counts().connects == 1);
  }
};

}  // namespace

TEST_CASE_TEMPLATE("bytes of every size are read from and written to a peer's region", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  for (const std::size_t size : {1UL, 8UL, 4023UL, 4024UL, 4025UL, 65'536UL, 65'537UL, 1UL << 20, 3'000'001UL}) {
    CAPTURE(size);
    const auto bytes = pattern(size, static_cast<unsigned>(size));
    const auto from = regions.arena.bytes().first(size);
    const auto to = regions.arena.bytes().subspan(4 << 20, size);
    std::ranges::copy(bytes, from.begin());
    UseJob job;
    REQUIRE(regions.run(job, RegionJob::Kind::write, 5, from) == Status::ok);
    CHECK(same_bytes(bytes, regions.exposed.bytes().subspan(5, size)));
    CHECK(regions.exposed.bytes()[4] == std::byte{0});
    REQUIRE(regions.run(job, RegionJob::Kind::read, 5, to) == Status::ok);
    CHECK(same_bytes(bytes, to));
    std::ranges::fill(regions.exposed.bytes(), std::byte{0});
  }
  regions.clean();
}

TEST_CASE_TEMPLATE("words of a peer's region are changed atomically", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  CHECK(regions.add(8, 5) == 0);
  CHECK(regions.add(8, ~std::uint64_t{0}) == 5);
  UseJob swap;
  swap.compare = 3;
  swap.operand = 9;
  CHECK(regions.run(swap, RegionJob::Kind::compare_swap, 8) == Status::ok);
  CHECK(swap.value == 4);
  swap.compare = 4;
  CHECK(regions.run(swap, RegionJob::Kind::compare_swap, 8) == Status::ok);
  CHECK(swap.value == 4);
  CHECK(regions.add(8, 0) == 9);
  UseJob job;
  CHECK(regions.run(job, RegionJob::Kind::fetch_add, 12) == Status::region_misaligned);
  CHECK(regions.run(job, RegionJob::Kind::fetch_add, 4 << 20) == Status::region_out_of_range);
  regions.clean();
}

TEST_CASE_TEMPLATE("a flush is answered after the writes before it are done", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  const auto bytes = pattern(4000, 3);
  const auto from = regions.arena.bytes().first(4000);
  std::ranges::copy(bytes, from.begin());
  UseJob write;
  UseJob flush;
  regions.submit(write, RegionJob::Kind::write, 0, from);
  regions.submit(flush, RegionJob::Kind::flush, 0);
  regions.until([&] { return flush.done == 1; });
  CHECK(flush.status == Status::ok);
  CHECK(same_bytes(bytes, regions.exposed.bytes().first(4000)));
  regions.until([&] { return write.done == 1; });
  regions.clean();
}

TEST_CASE_TEMPLATE("what a peer's region does not allow is answered with a status of its own", Pair, EVERY_PAIR) {
  Regions<Pair> regions(RDE_REGION_RIGHT_READ);
  const auto buffer = regions.arena.bytes().first(2 << 20);
  UseJob job;
  CHECK(regions.run(job, RegionJob::Kind::write, 0, buffer) == Status::region_denied);
  CHECK(regions.run(job, RegionJob::Kind::fetch_add, 0) == Status::region_denied);
  CHECK(regions.run(job, RegionJob::Kind::compare_swap, 0) == Status::region_denied);
  CHECK(regions.run(job, RegionJob::Kind::read, (2 << 20) + 1, buffer) == Status::region_out_of_range);
  CHECK(regions.run(job, RegionJob::Kind::read, ~std::uint64_t{0}, buffer.first(1)) == Status::region_out_of_range);
  regions.token.key[15] ^= 1U;
  CHECK(regions.run(job, RegionJob::Kind::read, 0, buffer) == Status::region_not_found);
  CHECK(regions.run(job, RegionJob::Kind::flush, 0) == Status::region_not_found);
  regions.token.key[15] ^= 1U;
  ++regions.token.epoch;
  CHECK(regions.run(job, RegionJob::Kind::read, 0, buffer) == Status::region_not_found);
  --regions.token.epoch;
  CHECK(regions.run(job, RegionJob::Kind::read, 2 << 20, buffer) == Status::ok);
  regions.clean();
}

TEST_CASE_TEMPLATE("a write that would leave the region changes nothing of it", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  const auto buffer = regions.arena.bytes().first(1 << 20);
  std::ranges::fill(buffer, std::byte{1});
  UseJob job;
  CHECK(regions.run(job, RegionJob::Kind::write, (3 << 20) + 1, buffer) == Status::region_out_of_range);
  CHECK(std::ranges::all_of(regions.exposed.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  regions.clean();
}

TEST_CASE_TEMPLATE("after a revoke not a byte of the region is touched, also by a transfer under way", Pair,
                   EVERY_PAIR) {
  for (const auto kind : {RegionJob::Kind::write, RegionJob::Kind::read}) {
    for (unsigned steps = 0; steps < 40; steps += 3) {
      CAPTURE(steps);
      Regions<Pair> regions;
      const auto buffer = regions.arena.bytes().first(4 << 20);
      std::ranges::fill(buffer, std::byte{1});
      std::ranges::fill(regions.exposed.bytes(), std::byte{2});
      UseJob job;
      regions.submit(job, kind, 0, buffer);
      for (unsigned i = 0; i < steps; ++i) regions.step();
      regions.revoke();
      // Whatever comes from now on must neither be seen by a read nor changed by a write.
      std::ranges::fill(regions.exposed.bytes(), std::byte{3});
      regions.until([&] { return job.done == 1; });
      CHECK((job.status == Status::region_revoked || (kind == RegionJob::Kind::read && job.status == Status::ok)));
      regions.clean();
      CHECK(std::ranges::all_of(regions.exposed.bytes(), [](std::byte b) { return b == std::byte{3}; }));
      CHECK(std::ranges::none_of(buffer, [](std::byte b) { return b == std::byte{3}; }));
      CHECK(regions.run(job, RegionJob::Kind::flush, 0) == Status::region_revoked);
    }
  }
}

TEST_CASE_TEMPLATE("a region that expires fails a transfer under way", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  const auto made = regions.table.expose({.owner = kOwner,
                                          .bytes = regions.exposed.bytes(),
                                          .rights = kAll,
                                          .expires = regions.now() + 40 * kMicrosecond});
  REQUIRE(made.status == Status::ok);
  regions.token = made.token;
  const auto buffer = regions.arena.bytes().first(4 << 20);
  UseJob job;
  CHECK(regions.run(job, RegionJob::Kind::write, 0, buffer) == Status::region_expired);
  CHECK(regions.run(job, RegionJob::Kind::read, 0, buffer) == Status::region_expired);
  CHECK(regions.run(job, RegionJob::Kind::flush, 0) == Status::region_expired);
  regions.clean();
}

TEST_CASE_TEMPLATE("small uses do not wait for large ones", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  std::deque<UseJob> large(4);
  for (std::size_t i = 0; i < large.size(); ++i) {
    const auto kind = i % 2 == 0 ? RegionJob::Kind::read : RegionJob::Kind::write;
    regions.submit(large[i], kind, 0, regions.arena.bytes().subspan(i << 20, 1 << 20));
  }
  UseJob small;
  CHECK(regions.run(small, RegionJob::Kind::read, 0, regions.arena.bytes().subspan(6 << 20, 8)) == Status::ok);
  CHECK(std::ranges::any_of(large, [](const UseJob& job) { return job.done == 0; }));
  regions.until([&] { return std::ranges::all_of(large, [](const UseJob& job) { return job.done == 1; }); });
  regions.clean();
}

TEST_CASE_TEMPLATE("cancelled uses end, and leave link, credits and memory in order", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  const auto buffer = regions.arena.bytes().first(4 << 20);
  for (unsigned round = 0; round < 40; ++round) {
    UseJob job;
    regions.submit(job, round % 2 == 0 ? RegionJob::Kind::write : RegionJob::Kind::read, 0, buffer);
    for (unsigned i = 0; i < round; ++i) regions.step();
    regions.user->cancel(job);
    regions.until([&] { return job.done == 1; });
    CHECK((job.status == Status::cancelled || job.status == Status::ok));
    CHECK(regions.add(0, 0) < ~std::uint64_t{0});
  }
  regions.clean();
}

TEST_CASE_TEMPLATE("a peer that goes ends the uses that it has not answered", Pair, EVERY_PAIR) {
  Regions<Pair> regions;
  std::deque<UseJob> jobs(6);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    constexpr std::array kKinds{RegionJob::Kind::read, RegionJob::Kind::write, RegionJob::Kind::flush};
    regions.submit(jobs[i], kKinds[i % 3], 0, regions.arena.bytes().subspan(i << 20, 1 << 20));
  }
  regions.owner->stop();
  regions.until([&] { return std::ranges::all_of(jobs, [](const UseJob& job) { return job.done == 1; }); });
  for (const UseJob& job : jobs) {
    CAPTURE(name_of(job.status));
    CHECK((job.status == Status::peer_down || job.status == Status::draining || job.status == Status::ok));
  }
  CHECK(std::ranges::any_of(jobs, [](const UseJob& job) { return job.status != Status::ok; }));
  UseJob late;
  CHECK(regions.run(late, RegionJob::Kind::flush, 0) != Status::ok);
}

TEST_CASE_TEMPLATE("a peer that knows no regions is not asked", Pair, EVERY_PAIR) {
  Regions<Pair> regions(kAll, false);
  CHECK(regions.user->state(regions.peer) == Status::ok);
  CHECK(regions.user->region_state(regions.peer) == Status::not_supported);
  UseJob job;
  CHECK(regions.run(job, RegionJob::Kind::flush, 0) == Status::not_supported);
  regions.clean();
}
