#include "seaweed/needle_index.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <thread>

using rde::IndexEntry;
using rde::NeedleIndex;

namespace {

IndexEntry entry_for(std::uint64_t key) {
  return {key, (key % 1'000'000 + 1) * 8, static_cast<std::int32_t>(key % 77)};
}

}  // namespace

TEST_CASE("the last entry of a key wins") {
  NeedleIndex index(4);
  index.apply({7, 8, 100});
  index.apply({7, 800, 200});
  CHECK(*index.find(7) == IndexEntry{7, 800, 200});
  CHECK(index.size() == 1);
}

TEST_CASE("a deleted key is gone until it is written again") {
  NeedleIndex index(4);
  index.apply({7, 8, 100});
  index.apply({7, 16, -1});
  CHECK_FALSE(index.find(7));
  index.apply({7, 24, 5});
  CHECK(index.find(7)->offset == 24);
  index.apply({7, 0, 0});
  CHECK_FALSE(index.find(7));
  CHECK(index.size() == 0);
}

TEST_CASE("deleting what was never written does nothing") {
  NeedleIndex index(4);
  index.apply({7, 8, -1});
  CHECK(index.size() == 0);
}

TEST_CASE("an empty object exists") {
  NeedleIndex index(4);
  index.apply({7, 8, 0});
  CHECK(*index.find(7) == IndexEntry{7, 8, 0});
}

TEST_CASE("the smallest and the largest keys, offsets and sizes are kept") {
  for (const unsigned offset_bytes : {4U, 5U}) {
    NeedleIndex index(offset_bytes);
    const std::uint64_t most = ((1ULL << (8 * offset_bytes)) - 1) * 8;
    index.apply({0, 8, 1});
    index.apply({~0ULL, most, 0x7fffffff});
    CHECK(*index.find(0) == IndexEntry{0, 8, 1});
    CHECK(*index.find(~0ULL) == IndexEntry{~0ULL, most, 0x7fffffff});
  }
}

TEST_CASE("an empty object whose low offset bytes are all zero is kept") {
  NeedleIndex index(5);
  index.apply({9, (1ULL << 32) * 8, 0});
  CHECK(*index.find(9) == IndexEntry{9, (1ULL << 32) * 8, 0});
  index.apply({9, 8, -1});
  CHECK_FALSE(index.find(9));
}

TEST_CASE("a full table wraps its probes around its end") {
  rde::NeedleTable table(4, 7);
  std::map<std::uint64_t, IndexEntry> model;
  for (std::uint64_t key = 0; !table.is_full(); ++key) {
    table.put(entry_for(key));
    model[key] = entry_for(key);
  }
  for (const auto& [key, entry] : model) CHECK(*table.find(key) == entry);
  CHECK_FALSE(table.find(999));
  while (!model.empty()) {
    const std::uint64_t key = model.begin()->first;
    CHECK(table.erase(key));
    model.erase(key);
    CHECK_FALSE(table.find(key));
    for (const auto& [other, entry] : model) CHECK(*table.find(other) == entry);
  }
  CHECK(table.size() == 0);
}

TEST_CASE("any series of writes and deletions leaves what a plain map would hold") {
  for (const unsigned offset_bytes : {4U, 5U}) {
    std::mt19937_64 random(offset_bytes);
    NeedleIndex index(offset_bytes);
    std::map<std::uint64_t, IndexEntry> model;
    for (int step = 0; step < 200'000; ++step) {
      const std::uint64_t key = random() % 5'000;
      if (random() % 3 == 0) {
        index.apply({key, 8, -1});
        model.erase(key);
      } else {
        const IndexEntry entry{key, (random() % 0xffff'ffff + 1) * 8, static_cast<std::int32_t>(random() % 1'000)};
        index.apply(entry);
        model[key] = entry;
      }
    }
    CHECK(index.size() == model.size());
    for (std::uint64_t key = 0; key < 5'000; ++key) {
      const auto found = index.find(key);
      const auto expected = model.find(key);
      REQUIRE(found.has_value() == (expected != model.end()));
      if (found) CHECK(*found == expected->second);
    }
  }
}

TEST_CASE("a needle takes at most 24 bytes at any number of needles") {
  for (const unsigned offset_bytes : {4U, 5U}) {
    NeedleIndex index(offset_bytes);
    for (std::uint64_t key = 1; key <= 600'000; ++key) {
      index.apply(entry_for(key));
      if (key >= 50'000 && key % 1'009 == 0) REQUIRE(index.memory_bytes() <= 24 * index.size());
    }
  }
}

TEST_CASE("lookups from other threads see whole entries while the index grows") {
  NeedleIndex index(5);
  std::atomic<std::uint64_t> written = 0;
  std::atomic<std::uint64_t> wrong = 0;
  constexpr std::uint64_t kKeys = 200'000;
  std::thread reader([&] {
    std::mt19937_64 random(1);
    for (std::uint64_t seen = 0; seen < kKeys;) {
      seen = written.load(std::memory_order_acquire);
      if (seen == 0) continue;
      const std::uint64_t key = random() % seen;
      const auto entry = index.find(key);
      if (!entry || *entry != entry_for(key)) ++wrong;
    }
  });
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    index.apply(entry_for(key));
    written.store(key + 1, std::memory_order_release);
  }
  reader.join();
  CHECK(wrong == 0);
}
