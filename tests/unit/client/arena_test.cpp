#include "client/arena.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "support/watchdog.h"

namespace rde::test {
namespace {

constexpr std::uint64_t kPage = RDE_ARENA_PAGE;

}  // namespace

TEST_CASE("an empty arena gives its largest block, and gets it back whole") {
  for (const std::uint64_t pages : {1U, 2U, 3U, 16U, 17U, 24U, 255U, 256U, 16000U}) {
    CAPTURE(pages);
    ArenaAllocator arena(pages * kPage);
    const auto largest = arena.largest();
    CHECK(largest <= pages * kPage);
    CHECK(largest * 2 > pages * kPage);
    for (unsigned turn = 0; turn < 3; ++turn) {
      const auto page = arena.allocate(largest);
      REQUIRE(page);
      CHECK(arena.block_size(*page) == largest);
      arena.release(*page);
    }
    CHECK_FALSE(arena.allocate(largest + 1));
  }
}

TEST_CASE("every page of an arena of any size can be lent, and joined again") {
  for (const std::uint64_t pages : {1U, 2U, 3U, 5U, 16U, 17U, 24U, 100U, 255U, 256U, 257U, 1000U}) {
    CAPTURE(pages);
    ArenaAllocator arena(pages * kPage);
    std::vector<bool> lent(pages);
    std::vector<std::uint32_t> all;
    while (const auto page = arena.allocate(1)) {
      REQUIRE(*page < pages);
      REQUIRE_FALSE(lent[*page]);
      lent[*page] = true;
      all.push_back(*page);
    }
    CHECK(all.size() == pages);
    CHECK(arena.used_blocks() == pages);
    std::mt19937_64 random(pages);
    std::shuffle(all.begin(), all.end(), random);
    for (const auto page : all) arena.release(page);
    CHECK(arena.used_blocks() == 0);
    CHECK(arena.allocate(arena.largest()));
  }
}

TEST_CASE("a length is rounded up to a power of two of pages") {
  ArenaAllocator arena(64 * kPage);
  struct Row {
    std::uint64_t length;
    std::uint64_t block;
  };
  for (const auto& row : std::vector<Row>{{0, kPage},
                                          {1, kPage},
                                          {kPage, kPage},
                                          {kPage + 1, 2 * kPage},
                                          {3 * kPage, 4 * kPage},
                                          {4 * kPage + 1, 8 * kPage},
                                          {33 * kPage, 64 * kPage}}) {
    CAPTURE(row.length);
    const auto page = arena.allocate(row.length);
    REQUIRE(page);
    CHECK(arena.block_size(*page) == row.block);
    arena.release(*page);
  }
}

TEST_CASE("no length overflows") {
  ArenaAllocator arena(64 * kPage);
  for (std::uint64_t back = 0; back < 2 * kPage; ++back) CHECK_FALSE(arena.allocate(~std::uint64_t{0} - back));
  for (unsigned bit = 19; bit < 64; ++bit) CHECK_FALSE(arena.allocate(std::uint64_t{1} << bit));
  CHECK(arena.used_blocks() == 0);
}

TEST_CASE("an arena without a page gives nothing") {
  ArenaAllocator arena(kPage - 1);
  CHECK_FALSE(arena.allocate(1));
  CHECK(arena.largest() == 0);
}

TEST_CASE("a page that is not lent is not taken back") {
  ArenaAllocator arena(16 * kPage);
  const auto page = arena.allocate(4 * kPage);
  REQUIRE(page);
  arena.release(*page + 1);  // inside the block
  arena.release(16);
  arena.release(0xFFFFFFFF);
  CHECK(arena.used_blocks() == 1);
  arena.release(*page);
  arena.release(*page);
  CHECK(arena.used_blocks() == 0);
  CHECK(arena.block_size(*page) == 0);
  const auto first = arena.allocate(8 * kPage);
  const auto second = arena.allocate(8 * kPage);
  REQUIRE(first);
  REQUIRE(second);
  CHECK(*first != *second);
  CHECK_FALSE(arena.allocate(1));
}

TEST_CASE("random loans never overlap, and a full return leaves one block") {
  for (const std::uint64_t pages : {64U, 1000U, 4096U}) {
    CAPTURE(pages);
    ArenaAllocator arena(pages * kPage);
    std::mt19937_64 random(pages);
    std::map<std::uint32_t, std::uint64_t> lent;  // page → pages
    for (unsigned turn = 0; turn < 50'000; ++turn) {
      if (random() % 2 == 0 && !lent.empty()) {
        auto victim = lent.lower_bound(static_cast<std::uint32_t>(random() % pages));
        if (victim == lent.end()) victim = lent.begin();
        arena.release(victim->first);
        lent.erase(victim);
        continue;
      }
      const std::uint64_t length = random() % (std::uint64_t{kPage} << (random() % 8)) + 1;
      const auto page = arena.allocate(length);
      if (!page) continue;
      const std::uint64_t size = arena.block_size(*page) / kPage;
      REQUIRE(size * kPage >= length);
      REQUIRE(*page + size <= pages);
      const auto next = lent.lower_bound(*page);
      if (next != lent.end()) REQUIRE(*page + size <= next->first);
      if (next != lent.begin()) REQUIRE(std::prev(next)->first + std::prev(next)->second <= *page);
      lent.emplace(*page, size);
    }
    CHECK(arena.used_blocks() == lent.size());
    for (const auto& [page, size] : lent) arena.release(page);
    CHECK(arena.allocate(arena.largest()));
  }
}

TEST_CASE("threads lend and return at the same time") {
  const Watchdog watchdog(60);
  ArenaAllocator arena(256 * kPage);
  std::vector<std::atomic<int>> owner(256);
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (int self = 1; self <= 3; ++self) {
    threads.emplace_back([&, self] {
      std::mt19937_64 random(static_cast<unsigned>(self));
      for (unsigned turn = 0; turn < 3000; ++turn) {
        const auto page = arena.allocate((random() % 4 + 1) * kPage);
        if (!page) continue;
        if (owner[*page].exchange(self) != 0) ++wrong;
        if (owner[*page].exchange(0) != self) ++wrong;
        arena.release(*page);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(arena.used_blocks() == 0);
}

}  // namespace rde::test
