#include "shard/tag_table.h"

#include <doctest/doctest.h>

#include <bit>
#include <chrono>
#include <random>
#include <unordered_map>
#include <vector>

#include "shard/operation.h"

using namespace rde;

namespace {

constexpr std::uint64_t kSeed = 0x1234567890ABCDEF;

Operation* pointer(std::vector<Operation>& all, std::uint64_t i) { return &all[i % all.size()]; }

// Undoes the mixing for a table whose seed is known: tags that all want the same place.
std::uint64_t colliding_tag(std::uint64_t i, std::uint64_t seed) {
  const auto unshift = [](std::uint64_t x) { return x ^ (x >> 33); };  // its own inverse for shifts of 32 and up
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int round = 0; round < 5; ++round) x *= 2 - odd * x;
    return x;
  };
  std::uint64_t x = unshift(i << 32);
  x = unshift(x * inverse(0xC4CEB9FE1A85EC53U));
  x = unshift(x * inverse(0xFF51AFD7ED558CCDU));
  return x ^ seed;
}

}  // namespace

TEST_CASE("a tag is found until it is erased") {
  std::vector<Operation> operations(1);
  TagTable table(8, kSeed);
  CHECK(table.find(7) == nullptr);
  table.insert(7, &operations[0]);
  CHECK(table.find(7) == &operations[0]);
  CHECK(table.find(8) == nullptr);
  table.erase(7);
  CHECK(table.find(7) == nullptr);
}

TEST_CASE("erasing a tag that is not there changes nothing") {
  std::vector<Operation> operations(1);
  TagTable table(2, kSeed);
  table.erase(1);
  table.insert(1, &operations[0]);
  table.erase(2);
  CHECK(table.find(1) == &operations[0]);
}

TEST_CASE("a full table finds each of its tags and ends the search for others") {
  std::vector<Operation> operations(320);
  TagTable table(320, kSeed);
  for (std::uint64_t tag = 0; tag < 320; ++tag) table.insert(tag << 32, pointer(operations, tag));
  for (std::uint64_t tag = 0; tag < 320; ++tag) CHECK(table.find(tag << 32) == pointer(operations, tag));
  for (std::uint64_t tag = 320; tag < 1000; ++tag) CHECK(table.find(tag << 32) == nullptr);
  std::size_t visited = 0;
  table.for_each([&](Operation&) { ++visited; });
  CHECK(visited == 320);
}

TEST_CASE("the table agrees with a map through random use, also where all tags want one place") {
  std::mt19937_64 random(3);
  for (const bool collide : {false, true}) {
    std::vector<Operation> operations(64);
    TagTable table(64, kSeed);
    std::unordered_map<std::uint64_t, Operation*> model;
    for (int step = 0; step < 50'000; ++step) {
      const std::uint64_t i = random() % 128;
      const std::uint64_t tag = collide ? colliding_tag(i, kSeed) : i * 0x9E3779B97F4A7C15U;
      if (model.contains(tag)) {
        table.erase(tag);
        model.erase(tag);
      } else if (model.size() < 64) {
        table.insert(tag, pointer(operations, i));
        model[tag] = pointer(operations, i);
      }
      const std::uint64_t probe = collide ? colliding_tag(random() % 128, kSeed) : random() % 128 * 0x9E3779B97F4A7C15U;
      const auto found = model.find(probe);
      REQUIRE(table.find(probe) == (found == model.end() ? nullptr : found->second));
    }
  }
}

TEST_CASE("tags that collide under one seed do not under another") {
  // With a seed that the client does not know, the walk to a tag stays short: places are nearly all different.
  std::vector<bool> used(8192);
  std::size_t places = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const std::size_t place = TagTable::mix(colliding_tag(i, kSeed), kSeed + 1) % used.size();
    places += used[place] ? 0 : 1;
    used[place] = true;
  }
  CHECK(places > 2800);  // 4096 balls in 8192 bins fill about 3220
}

TEST_CASE("the seed of this process is not a constant that a client could know") {
  CHECK(tag_seed() != 0);
  CHECK(tag_seed() == tag_seed());
}
