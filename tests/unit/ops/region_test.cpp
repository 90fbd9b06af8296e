// Regions on the rings, within one engine, and handed on to a peer.
#include "client/region.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::uint32_t kAll = RDE_REGION_RIGHT_READ | RDE_REGION_RIGHT_WRITE | RDE_REGION_RIGHT_ATOMIC;

Reaped ask(Client& client, const rde_request& request) {
  REQUIRE(client.channel(0).submit(request));
  return next_completion(client);
}

// An owner and a user, two clients of one engine.
struct Fixture {
  Rig rig;
  std::unique_ptr<Client> owner = rig.attach();
  std::unique_ptr<Client> user = rig.attach();
  Buffer part = *owner->allocate(256 << 10);
  Buffer page = *owner->allocate(4096);

  RegionPart part_of(std::uint32_t rights = kAll, std::uint32_t lifetime_ms = 0) const {
    return {.offset = arena_offset(part), .length = part.bytes.size(), .rights = rights, .lifetime_ms = lifetime_ms};
  }
  std::uint64_t expose(const RegionPart& what) {
    const auto exposed = ask(*owner, expose_request(page, what));
    REQUIRE(exposed.status == Status::ok);
    REQUIRE(exposed.bytes == sizeof(rde_region_token));
    return exposed.value;
  }
  // The token goes from hand to hand outside of the engine.
  Reaped open(std::uint64_t peer = 0) {
    const auto copy = *user->allocate(4096);
    std::memcpy(copy.bytes.data(), page.bytes.data(), sizeof(rde_region_token));
    const auto opened = ask(*user, open_region_request(copy, peer));
    user->release(copy);
    return opened;
  }
  RegionTable& table() {
    RegionTable* table = nullptr;
    rig.on_shard([&](Shard& shard, FakeIo&) { table = &shard.regions_st(); });
    return *table;
  }
  // A handle of the user for a region whose engine is a peer.
  std::uint64_t open_elsewhere() {
    rig.on_shard([](FakeIo& io) { io.opening = FakeIo::Opening::at_once; });
    const auto address = *user->allocate(64);
    std::memcpy(address.bytes.data(), "127.0.0.1:9", 11);
    rde_request connect{};
    connect.op = RDE_OP_CONNECT;
    connect.buffer_page = address.page;
    connect.length = 11;
    const auto peer = ask(*user, connect);
    REQUIRE(peer.status == Status::ok);
    const auto opened = open(peer.value);
    REQUIRE(opened.status == Status::ok);
    return opened.value;
  }
  void finish_first(Status status) {
    REQUIRE(eventually([&] {
      bool found = false;
      rig.on_shard([&](FakeIo& io) {
        if (io.region_jobs().empty()) return;
        found = true;
        io.finish_region(*io.region_jobs().front(), status, 42);
      });
      return found;
    }));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a region of one client is read and written by another, bytes and words") {
  std::ranges::fill(part.bytes, std::byte{7});
  expose(part_of());
  const auto region = open();
  REQUIRE(region.status == Status::ok);
  const auto buffer = *user->allocate(1000);
  auto done = ask(*user, region_read_request(region.value, 100, buffer));
  CHECK(done.status == Status::ok);
  CHECK(done.bytes == 1000);
  CHECK(std::ranges::all_of(buffer.bytes, [](std::byte b) { return b == std::byte{7}; }));

  std::ranges::fill(buffer.bytes, std::byte{9});
  CHECK(ask(*user, region_write_request(region.value, 4096, buffer)).status == Status::ok);
  CHECK(part.bytes[4095] == std::byte{7});
  CHECK(part.bytes[4096] == std::byte{9});
  CHECK(part.bytes[5095] == std::byte{9});
  CHECK(part.bytes[5096] == std::byte{7});

  std::memset(part.bytes.data(), 0, 8);
  CHECK(ask(*user, fetch_add_request(region.value, 0, 5)).value == 0);
  CHECK(ask(*user, compare_swap_request(region.value, 0, 4, 1)).value == 5);
  CHECK(ask(*user, compare_swap_request(region.value, 0, 5, 1)).value == 5);
  CHECK(ask(*user, fetch_add_request(region.value, 0, 0)).value == 1);
  CHECK(ask(*user, flush_request(region.value)).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a transfer that is long goes in steps, whole, and the region may be the reader's own") {
  for (std::size_t i = 0; i < part.bytes.size(); ++i) part.bytes[i] = static_cast<std::byte>(i * 31 >> 3);
  expose(part_of());
  const auto region = open();
  const auto buffer = *user->allocate(part.bytes.size());
  CHECK(ask(*user, region_read_request(region.value, 0, buffer)).bytes == part.bytes.size());
  CHECK(std::ranges::equal(buffer.bytes, part.bytes));
  std::ranges::reverse(buffer.bytes);
  CHECK(ask(*user, region_write_request(region.value, 0, buffer)).status == Status::ok);
  CHECK(ask(*user, flush_request(region.value)).status == Status::ok);
  CHECK(std::ranges::equal(buffer.bytes, part.bytes));
  const auto mine = ask(*owner, open_region_request(page));
  REQUIRE(mine.status == Status::ok);
  CHECK(ask(*owner, region_read_request(mine.value, 0, part)).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "what a region does not allow has a status of its own") {
  expose(part_of(RDE_REGION_RIGHT_READ));
  const auto region = open().value;
  const auto buffer = *user->allocate(4096);
  CHECK(ask(*user, region_write_request(region, 0, buffer)).status == Status::region_denied);
  CHECK(ask(*user, fetch_add_request(region, 0, 1)).status == Status::region_denied);
  CHECK(ask(*user, fetch_add_request(region, 4, 1)).status == Status::region_misaligned);
  CHECK(ask(*user, compare_swap_request(region, 7, 0, 1)).status == Status::region_misaligned);
  for (const std::uint64_t offset : {part.bytes.size() - 4095, part.bytes.size(), ~std::uint64_t{0},
                                     ~std::uint64_t{0} - 4095, ~std::uint64_t{0} / 2 + 1}) {
    CAPTURE(offset);
    CHECK(ask(*user, region_read_request(region, offset, buffer)).status == Status::region_out_of_range);
  }
  CHECK(ask(*user, region_read_request(region, part.bytes.size() - 4096, buffer)).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "after its revoke a region is gone for all, and its handle stale") {
  const auto exposed = expose(part_of());
  const auto region = open().value;
  const auto buffer = *user->allocate(100);
  CHECK(ask(*user, revoke_request(exposed)).status == Status::permission_denied);
  CHECK(ask(*owner, revoke_request(exposed)).status == Status::ok);
  CHECK(ask(*user, region_read_request(region, 0, buffer)).status == Status::region_revoked);
  CHECK(ask(*user, fetch_add_request(region, 0, 1)).status == Status::region_revoked);
  CHECK(ask(*user, flush_request(region)).status == Status::region_revoked);
  CHECK(ask(*owner, revoke_request(exposed)).status == Status::stale_handle);
  CHECK(ask(*owner, revoke_request(exposed + 1)).status == Status::invalid_handle);
  CHECK(ask(*owner, revoke_request(0)).status == Status::invalid_handle);
}

TEST_CASE_FIXTURE(Fixture, "a revoke waits for a copy that another shard has begun, and only then completes") {
  const auto exposed = expose(part_of());
  rde_region_token token;
  std::memcpy(&token, page.bytes.data(), sizeof token);
  RegionTable& regions = table();
  {
    const auto pin = regions.pin(token, RDE_REGION_RIGHT_READ, 0, 1, now_ns());
    REQUIRE(pin.status() == Status::ok);
    REQUIRE(owner->channel(0).submit(revoke_request(exposed)));
    REQUIRE(owner->channel(0).submit(nop_request(), 1));
    CHECK(next_completion(*owner).user == 1);
    Reaped reaped;
    CHECK(!owner->channel(0).reap(reaped));
  }
  CHECK(next_completion(*owner).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture,
                  "a revoke that was answered at its deadline is asked for again, and waits for the same copy") {
  const auto exposed = expose(part_of());
  rde_region_token token;
  std::memcpy(&token, page.bytes.data(), sizeof token);
  {
    const auto pin = table().pin(token, RDE_REGION_RIGHT_WRITE, 0, 1, now_ns());
    REQUIRE(pin.status() == Status::ok);
    auto hasty = revoke_request(exposed);
    hasty.deadline_ns = now_ns() + 5 * kMillisecond;
    CHECK(ask(*owner, hasty).status == Status::deadline_exceeded);
    REQUIRE(owner->channel(0).submit(revoke_request(exposed)));
    REQUIRE(owner->channel(0).submit(nop_request(), 1));
    CHECK(next_completion(*owner).user == 1);
  }
  // Both: the second half of the first, and the answer to the second.
  const auto first = next_completion(*owner);
  const auto second = next_completion(*owner);
  CHECK((first.status == Status::ok || second.status == Status::ok));
  CHECK(ask(*owner, revoke_request(exposed)).status == Status::stale_handle);
}

TEST_CASE("a revoke needs no room in the engine where nobody copies") {
  Rig rig({.max_operations = 0});
  const auto owner = rig.attach();
  const auto part = *owner->allocate(4096);
  const auto page = *owner->allocate(4096);
  const auto exposed =
      ask(*owner, expose_request(page, {.offset = arena_offset(part), .length = 4096, .rights = kAll}));
  REQUIRE(exposed.status == Status::ok);
  CHECK(ask(*owner, revoke_request(exposed.value)).status == Status::ok);
  rig.on_shard([](Shard& shard, FakeIo&) { CHECK(shard.regions_st().live() == 0); });
}

TEST_CASE_FIXTURE(Fixture, "a short use of a region whose deadline has passed does nothing") {
  expose(part_of());
  const auto region = open().value;
  auto late = fetch_add_request(region, 0, 1);
  late.deadline_ns = 1;
  CHECK(ask(*user, late).status == Status::deadline_exceeded);
  CHECK(ask(*user, fetch_add_request(region, 0, 0)).value == 0);
}

TEST_CASE_FIXTURE(Fixture, "a region that expires is gone, is counted, and can still be revoked") {
  const auto exposed = expose(part_of(kAll, 1));
  const auto region = open().value;
  REQUIRE(eventually([&] { return ask(*user, flush_request(region)).status == Status::region_expired; }));
  REQUIRE(eventually([&] { return table().live() == 0; }));
  CHECK(table().counts().expired == 1);
  CHECK(ask(*owner, revoke_request(exposed)).status == Status::ok);
  CHECK(ask(*user, flush_request(region)).status == Status::region_revoked);
}

TEST_CASE_FIXTURE(Fixture, "a client that goes takes its regions with it, after the last copy") {
  expose(part_of());
  const auto region = open().value;
  rde_region_token token;
  std::memcpy(&token, page.bytes.data(), sizeof token);
  RegionTable& regions = table();
  {
    const auto pin = regions.pin(token, RDE_REGION_RIGHT_READ, 0, 1, now_ns());
    const auto before = rig.counts().arenas.load();
    owner.reset();
    REQUIRE(eventually([&] { return ask(*user, flush_request(region)).status == Status::region_revoked; }));
    CHECK(rig.counts().arenas == before);
  }
  CHECK(eventually([&] { return rig.counts().arenas == 1; }));
  CHECK(regions.counts().ended == 1);
  CHECK(regions.live() == 0);
}

TEST_CASE_FIXTURE(Fixture, "what cannot be exposed is refused by field") {
  const auto refused = [&](RegionPart what) { return ask(*owner, expose_request(page, what)).status; };
  const std::uint64_t arena = owner->view().header().arena_size;
  CHECK(refused({.offset = 0, .length = 0, .rights = kAll}) == Status::length_zero);
  CHECK(refused({.offset = 0, .length = arena + 1, .rights = kAll}) == Status::buffer_out_of_range);
  CHECK(refused({.offset = arena, .length = 1, .rights = kAll}) == Status::buffer_out_of_range);
  CHECK(refused({.offset = 8, .length = ~std::uint64_t{0}, .rights = kAll}) == Status::buffer_out_of_range);
  CHECK(refused({.offset = ~std::uint64_t{0}, .length = 8, .rights = kAll}) == Status::buffer_out_of_range);
  CHECK(refused({.offset = 0, .length = 8, .rights = 0}) == Status::invalid_request);
  CHECK(refused({.offset = 0, .length = 8, .rights = 8}) == Status::invalid_request);
  CHECK(refused({.offset = 4, .length = 8, .rights = kAll}) == Status::region_misaligned);
  CHECK(refused({.offset = 4, .length = 8, .rights = RDE_REGION_RIGHT_READ}) == Status::ok);
  CHECK(refused({.offset = 0, .length = 8, .rights = kAll, .lifetime_ms = 86'400'001}) == Status::invalid_request);
  CHECK(refused({.offset = 0, .length = arena, .rights = kAll, .lifetime_ms = 86'400'000}) == Status::ok);
  auto request = expose_request(page, part_of());
  request.length = sizeof(rde_region_token) - 1;
  CHECK(ask(*owner, request).status == Status::buffer_too_small);
  request = expose_request(page, part_of());
  request.handle = 1;
  CHECK(ask(*owner, request).status == Status::invalid_handle);
}

TEST_CASE_FIXTURE(Fixture, "a client exposes and opens so many regions, and no more") {
  for (std::uint32_t i = 0; i < kRegionsPerClient; ++i) expose(part_of());
  CHECK(ask(*owner, expose_request(page, part_of())).status == Status::too_many_regions);
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < kOpenedPerClient; ++i) {
    const auto opened = open();
    REQUIRE(opened.status == Status::ok);
    first = i == 0 ? opened.value : first;
  }
  CHECK(open().status == Status::too_many_regions);
  CHECK(ask(*user, close_region_request(first)).status == Status::ok);
  CHECK(ask(*user, close_region_request(first)).status == Status::stale_handle);
  CHECK(ask(*user, flush_request(first)).status == Status::stale_handle);
  CHECK(ask(*user, flush_request(12345)).status == Status::invalid_handle);
  const auto again = open();
  CHECK(again.status == Status::ok);
  CHECK(again.value != first);
}

TEST_CASE_FIXTURE(Fixture, "a use of a peer's region is handed on, and a FLUSH waits for the writes before it") {
  expose(part_of());
  const auto region = open_elsewhere();
  const auto buffer = *user->allocate(100);
  Channel& channel = user->channel(0);
  REQUIRE(channel.submit(region_write_request(region, 8, buffer), 1));
  REQUIRE(channel.submit(fetch_add_request(region, 16, 2), 2));
  REQUIRE(channel.submit(flush_request(region), 3));
  REQUIRE(channel.submit(region_write_request(region, 24, buffer), 4));
  REQUIRE(eventually([&] { return rig.counts().submitted == 3; }));
  rig.on_shard([](FakeIo& io) {
    CHECK(io.region_jobs()[0]->kind == RegionJob::Kind::write);
    CHECK(io.region_jobs()[0]->offset == 8);
    CHECK(io.region_jobs()[1]->operand == 2);
  });
  finish_first(Status::ok);
  CHECK(next_completion(*user).user == 1);
  CHECK(rig.counts().submitted == 3);
  finish_first(Status::ok);
  const auto added = next_completion(*user);
  CHECK(added.user == 2);
  CHECK(added.value == 42);
  // Only now the FLUSH, although a later write is under way.
  REQUIRE(eventually([&] { return rig.counts().submitted == 4; }));
  finish_first(Status::peer_down);
  CHECK(next_completion(*user).status == Status::peer_down);
  finish_first(Status::ok);
  CHECK(next_completion(*user).user == 3);
}

TEST_CASE_FIXTURE(Fixture, "a use of a peer's region is cancelled in two steps, and a FLUSH that waits too") {
  expose(part_of());
  const auto region = open_elsewhere();
  const auto buffer = *user->allocate(100);
  Channel& channel = user->channel(0);
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto write = *channel.submit(region_write_request(region, 8, buffer), 1);
  const auto flush = *channel.submit(flush_request(region), 2);
  for (const auto tag : {write, flush}) {
    REQUIRE(channel.cancel(tag));
    const auto answered = next_completion(*user);
    CHECK(answered.status == Status::cancelled);
    CHECK(answered.ends);
    CHECK(!answered.returns_buffer);
    CHECK(next_completion(*user).status == Status::ok);  // the CANCEL
  }
  CHECK(rig.counts().cancelled == 1);
  finish_first(Status::cancelled);
  for (int i = 0; i < 2; ++i) CHECK(next_completion(*user).returns_buffer);
  CHECK(channel.quarantined() == 0);
}

TEST_CASE_FIXTURE(Fixture, "closing a region ends a FLUSH that waits; what runs goes on") {
  expose(part_of());
  const auto region = open_elsewhere();
  const auto buffer = *user->allocate(100);
  Channel& channel = user->channel(0);
  REQUIRE(channel.submit(region_write_request(region, 8, buffer), 1));
  REQUIRE(channel.submit(flush_request(region), 2));
  REQUIRE(channel.submit(close_region_request(region), 3));
  const auto flushed = next_completion(*user);
  CHECK(flushed.user == 2);
  CHECK(flushed.status == Status::stale_handle);
  CHECK(next_completion(*user).user == 3);
  finish_first(Status::ok);
  CHECK(next_completion(*user).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a peer that knows no regions is said to know none") {
  expose(part_of());
  rig.on_shard([](FakeIo& io) { io.peer_status = Status::not_supported; });
  CHECK(open(12345).status == Status::not_supported);
}

TEST_CASE_FIXTURE(Fixture, "CAPABILITIES says that there are regions") {
  rde_request request{};
  request.op = RDE_OP_CAPABILITIES;
  const auto done = ask(*owner, with_buffer(request, page));
  REQUIRE(done.status == Status::ok);
  rde_capabilities capabilities;
  std::memcpy(&capabilities, page.bytes.data(), sizeof capabilities);
  CHECK(capabilities.features == RDE_FEATURE_REGIONS);
}
