#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "shard/operation.h"

using namespace rde;

TEST_CASE("a pool gives each operation to one taker at a time") {
  OperationPool pool(1000);
  std::set<Operation*> taken;
  for (int i = 0; i < 1000; ++i) {
    Operation* operation = pool.take(0);
    REQUIRE(operation != nullptr);
    REQUIRE(taken.insert(operation).second);
  }
  CHECK(pool.used() == 1000);
  CHECK(pool.take(0) == nullptr);
}

TEST_CASE("an operation that was given back is taken again") {
  OperationPool pool(1);
  Operation* operation = pool.take(0);
  REQUIRE(operation != nullptr);
  CHECK(pool.take(0) == nullptr);
  pool.give_back(operation);
  CHECK(pool.take(0) == operation);
  CHECK(pool.used() == 1);
}

TEST_CASE("one client gets half of the pool at most, and another still gets its share") {
  OperationPool pool(1000);
  std::size_t greedy = 0;
  while (pool.take(greedy) != nullptr) ++greedy;
  CHECK(greedy == 500);
  std::size_t second = 0;
  while (pool.take(second) != nullptr) ++second;
  CHECK(second == 250);
  CHECK(pool.take(0) != nullptr);
}

TEST_CASE("a pool of a size that is no multiple of its blocks keeps to it") {
  OperationPool pool(257);
  for (int i = 0; i < 257; ++i) REQUIRE(pool.take(0) != nullptr);
  CHECK(pool.take(0) == nullptr);
}
