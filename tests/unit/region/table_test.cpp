// The table of exposed regions: who gets a pin, who does not, and why.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "region/region_access.h"

using namespace rde;

namespace {

constexpr std::uint64_t kEpoch = 77;
constexpr std::uint64_t kOwner = 5;
constexpr std::uint32_t kAll = RDE_REGION_RIGHT_READ | RDE_REGION_RIGHT_WRITE | RDE_REGION_RIGHT_ATOMIC;

struct Fixture {
  RegionTable table{kEpoch};
  alignas(64) std::array<std::byte, 4096> memory{};

  rde_region_token expose(std::uint32_t rights = kAll, Nanoseconds expires = kSecond, std::uint64_t owner = kOwner) {
    const auto exposed = table.expose({.owner = owner, .bytes = memory, .rights = rights, .expires = expires});
    REQUIRE(exposed.status == Status::ok);
    return exposed.token;
  }
  Status use(const rde_region_token& token, std::uint32_t rights = RDE_REGION_RIGHT_READ, std::uint64_t offset = 0,
             std::uint64_t length = 1, Nanoseconds now = 0) {
    return table.pin(token, rights, offset, length, now).status();
  }
  Status revoke(const rde_region_token& token, std::uint64_t owner = kOwner) {
    return table.close(Handle::from(token.region), owner, RegionEnd::revoked);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a pin is of the bytes that were asked for") {
  const auto token = expose();
  CHECK(token.epoch == kEpoch);
  const auto pin = table.pin(token, kAll, 100, 50, 0);
  REQUIRE(pin.status() == Status::ok);
  CHECK(pin.bytes().data() == memory.data() + 100);
  CHECK(pin.bytes().size() == 50);
}

TEST_CASE_FIXTURE(Fixture, "each bit of a key counts, and a wrong one looks like no region at all") {
  const auto token = expose();
  for (unsigned bit = 0; bit < 128; ++bit) {
    auto wrong = token;
    wrong.key[bit / 8] ^= static_cast<std::uint8_t>(1U << bit % 8);
    REQUIRE(use(wrong) == Status::region_not_found);
  }
  CHECK(use(token) == Status::ok);
  CHECK(table.counts().rejected == 128);
}

TEST_CASE_FIXTURE(Fixture, "no two keys are alike") {
  std::vector<std::array<std::uint8_t, 16>> keys;
  for (int i = 0; i < 1000; ++i) {
    const auto token = expose();
    std::array<std::uint8_t, 16> key{};
    std::ranges::copy(token.key, key.begin());
    keys.push_back(key);
  }
  std::ranges::sort(keys);
  CHECK(std::ranges::adjacent_find(keys) == keys.end());
}

TEST_CASE_FIXTURE(Fixture, "a token of another engine, or for no record, names nothing") {
  auto token = expose();
  ++token.epoch;
  CHECK(use(token) == Status::region_not_found);
  token = expose();
  for (const std::uint64_t region : {std::uint64_t{0}, ~std::uint64_t{0}, token.region + 1, token.region + 70'000,
                                     token.region + (std::uint64_t{1} << 32), token.region & 0xFFFF'FFFF}) {
    auto other = token;
    other.region = region;
    CHECK(use(other) == Status::region_not_found);
    std::ranges::fill(other.key, 0);  // what a record that was never used has
    CHECK(use(other) == Status::region_not_found);
  }
}

TEST_CASE_FIXTURE(Fixture, "offset and length are held within the region, at every edge") {
  const auto token = expose();
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  const auto status = [&](std::uint64_t offset, std::uint64_t length) {
    return use(token, RDE_REGION_RIGHT_READ, offset, length);
  };
  CHECK(status(0, 4096) == Status::ok);
  CHECK(status(4095, 1) == Status::ok);
  CHECK(status(4096, 0) == Status::ok);
  for (const auto& part : {std::pair{std::uint64_t{0}, std::uint64_t{4097}},
                           {4095, 2},
                           {4096, 1},
                           {4097, 0},
                           {1, kMost},
                           {kMost, 1},
                           {kMost, kMost},
                           {kMost - 4095, 4096},
                           {4096, kMost}}) {
    CAPTURE(part.first);
    CAPTURE(part.second);
    CHECK(status(part.first, part.second) == Status::region_out_of_range);
  }
}

TEST_CASE_FIXTURE(Fixture, "a right that was not given is denied") {
  for (const std::uint32_t given : {RDE_REGION_RIGHT_READ, RDE_REGION_RIGHT_WRITE, RDE_REGION_RIGHT_ATOMIC}) {
    const auto token = expose(given);
    for (const std::uint32_t wanted : {RDE_REGION_RIGHT_READ, RDE_REGION_RIGHT_WRITE, RDE_REGION_RIGHT_ATOMIC})
      CHECK(use(token, wanted) == (wanted == given ? Status::ok : Status::region_denied));
  }
}

TEST_CASE_FIXTURE(Fixture, "a region expires to the nanosecond, and is told apart from a revoked one") {
  const auto token = expose(kAll, 1000);
  CHECK(use(token, kAll, 0, 1, 999) == Status::ok);
  CHECK(use(token, kAll, 0, 1, 1000) == Status::region_expired);
  REQUIRE(table.close(Handle::from(token.region), kOwner, RegionEnd::expired) == Status::ok);
  CHECK(use(token, kAll, 0, 1, 999) == Status::region_expired);
  CHECK(table.live() == 0);
  CHECK(revoke(token) == Status::ok);
  CHECK(use(token) == Status::region_revoked);
  CHECK(revoke(token) == Status::stale_handle);
}

TEST_CASE_FIXTURE(Fixture, "only its owner revokes a region, and once") {
  const auto token = expose();
  CHECK(revoke(token, kOwner + 1) == Status::permission_denied);
  CHECK(use(token) == Status::ok);
  CHECK(revoke(token) == Status::ok);
  CHECK(use(token) == Status::region_revoked);
  CHECK(revoke(token) == Status::stale_handle);
  auto wrong = token;
  wrong.key[0] ^= 1U;
  CHECK(use(wrong) == Status::region_not_found);
  CHECK(table.close(Handle{}, kOwner, RegionEnd::revoked) == Status::invalid_handle);
  CHECK(table.close(Handle{9, 9}, kOwner, RegionEnd::revoked) == Status::invalid_handle);
}

TEST_CASE_FIXTURE(Fixture, "a pin that was taken before a revoke holds its bytes, and is waited for") {
  const auto token = expose();
  const Handle region = Handle::from(token.region);
  {
    const auto pin = table.pin(token, kAll, 0, 8, 0);
    REQUIRE(pin.status() == Status::ok);
    CHECK(revoke(token) == Status::ok);
    CHECK(table.is_pinned(region));
    CHECK(use(token) == Status::region_revoked);
  }
  CHECK(!table.is_pinned(region));
}

TEST_CASE("a record is used again only after many others, without pins, and with another generation") {
  RegionTable table(kEpoch, kRestingRegions + 8);
  std::array<std::byte, 64> memory{};
  const RegionGrant grant{.owner = kOwner, .bytes = memory, .rights = kAll, .expires = kSecond};
  const auto first = table.expose(grant).token;
  const auto held = table.pin(first, kAll, 0, 1, 0);
  REQUIRE(table.close(Handle::from(first.region), kOwner, RegionEnd::revoked) == Status::ok);
  std::uint32_t again = 0;
  rde_region_token last{};
  for (unsigned i = 0; i < 3 * kRestingRegions; ++i) {
    const auto exposed = table.expose(grant);
    REQUIRE(exposed.status == Status::ok);
    REQUIRE(Handle::from(exposed.token.region).index != Handle::from(first.region).index);
    again += Handle::from(exposed.token.region).generation > 1 ? 1 : 0;
    REQUIRE(table.close(Handle::from(exposed.token.region), kOwner, RegionEnd::revoked) == Status::ok);
    last = exposed.token;
  }
  CHECK(again != 0);
  CHECK(table.pin(last, kAll, 0, 1, 0).status() == Status::region_revoked);
  CHECK(table.pin(first, kAll, 0, 1, 0).status() == Status::region_revoked);
}

TEST_CASE("a table that is full says so, and has room again when one ends") {
  RegionTable table(kEpoch, 3);
  std::array<std::byte, 64> memory{};
  const RegionGrant grant{.owner = kOwner, .bytes = memory, .rights = kAll, .expires = kSecond};
  std::vector<rde_region_token> tokens;
  for (int i = 0; i < 3; ++i) tokens.push_back(table.expose(grant).token);
  CHECK(table.expose(grant).status == Status::too_many_regions);
  CHECK(table.counts().refused == 1);
  REQUIRE(table.close(Handle::from(tokens[1].region), kOwner, RegionEnd::client_gone) == Status::ok);
  const auto next = table.expose(grant);
  REQUIRE(next.status == Status::ok);
  CHECK(Handle::from(next.token.region).index == Handle::from(tokens[1].region).index);
  CHECK(table.pin(tokens[1], kAll, 0, 1, 0).status() == Status::region_not_found);
  CHECK(table.pin(next.token, kAll, 0, 1, 0).status() == Status::ok);
  CHECK(table.counts().ended == 1);
}

TEST_CASE_FIXTURE(Fixture, "words are changed atomically, and only where they are aligned") {
  const auto token = expose();
  CHECK(regions::fetch_add(table, token, 8, 5, 0).value == 0);
  CHECK(regions::fetch_add(table, token, 8, ~std::uint64_t{0}, 0).value == 5);
  CHECK(regions::compare_swap(table, token, 8, 9, 1, 0).value == 4);
  CHECK(regions::compare_swap(table, token, 8, 4, 7, 0).value == 4);
  CHECK(regions::fetch_add(table, token, 8, 0, 0).value == 7);
  CHECK(regions::fetch_add(table, token, 4, 1, 0).status == Status::region_misaligned);
  CHECK(regions::fetch_add(table, token, 4092, 1, 0).status == Status::region_out_of_range);
  CHECK(regions::fetch_add(table, token, 4088, 1, 0).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a step of a transfer that would leave the region later moves nothing") {
  const auto token = expose();
  const std::vector<std::byte> ones(64, std::byte{1});
  CHECK(regions::write(table, token, {4032, 65}, ones, 0) == Status::region_out_of_range);
  CHECK(memory[4032] == std::byte{0});
  CHECK(regions::write(table, token, {4032, 64}, ones, 0) == Status::ok);
  CHECK(memory[4095] == std::byte{1});
}

TEST_CASE_FIXTURE(Fixture, "nobody who still copies is left when the wait for a revoked region is over") {
  const int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    const auto token = expose();
    std::atomic<bool> quiet{false};
    std::atomic<int> late{0};
    std::vector<std::thread> users;
    for (int i = 0; i < 2; ++i) {
      users.emplace_back([&] {
        for (;;) {
          const auto pin = table.pin(token, RDE_REGION_RIGHT_WRITE, 0, 64, 0);
          if (pin.status() != Status::ok) return;
          late += quiet.load() ? 1 : 0;
        }
      });
    }
    REQUIRE(revoke(token) == Status::ok);
    while (table.is_pinned(Handle::from(token.region))) std::this_thread::yield();
    quiet = true;
    for (auto& user : users) user.join();
    REQUIRE(late == 0);
  }
}
