#include "common/histogram.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

using rde::tools::Histogram;

TEST_CASE("an empty histogram answers zero") {
  const Histogram empty;
  CHECK(empty.percentile(50) == 0);
  CHECK(empty.min() == 0);
  CHECK(empty.max() == 0);
  CHECK(empty.mean() == 0);
}

TEST_CASE("small values are exact") {
  Histogram histogram;
  for (std::uint64_t value = 1; value <= 100; ++value) histogram.record(value);
  CHECK(histogram.percentile(0) == 1);
  CHECK(histogram.percentile(50) == 50);
  CHECK(histogram.percentile(99) == 99);
  CHECK(histogram.percentile(100) == 100);
  CHECK(histogram.mean() == doctest::Approx(50.5));
}

TEST_CASE("every percentile is within one in 128 of the true one, never below it") {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random() >> (random() % 64));
    histogram.record(values.back());
  }
  std::ranges::sort(values);
  for (const double percent : {1.0, 25.0, 50.0, 90.0, 99.0, 99.9}) {
    const auto truth = values[static_cast<std::size_t>(percent / 100 * 20'000) - 1];
    const auto told = histogram.percentile(percent);
    CHECK(told >= truth);
    CHECK(static_cast<double>(told - truth) <= static_cast<double>(truth) / 128 + 1);
  }
}

TEST_CASE("the smallest and largest numbers have a bucket") {
  Histogram histogram;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{255}, std::uint64_t{256}, ~std::uint64_t{0}}) {
    histogram.record(value);
  }
  CHECK(histogram.percentile(25) == 0);
  CHECK(histogram.percentile(50) == 255);
  CHECK(histogram.percentile(100) == ~std::uint64_t{0});
}

TEST_CASE("merging is the same as recording everything in one") {
  Histogram one, two, both;
  for (std::uint64_t value = 1; value < 100'000; value += 37) {
    (value % 2 == 0 ? one : two).record(value);
    both.record(value);
  }
  one.merge(two);
  CHECK(one.count() == both.count());
  CHECK(one.min() == both.min());
  CHECK(one.max() == both.max());
  for (const double percent : {10.0, 50.0, 99.0}) CHECK(one.percentile(percent) == both.percentile(percent));
}

TEST_CASE("a histogram goes through its buckets to another process unchanged") {
  Histogram sent, received;
  for (const std::uint64_t value : {5U, 5U, 300U, 1'000'000U}) sent.record(value);
  sent.for_each([&](std::size_t bucket, std::uint64_t times) { received.add_bucket(bucket, times); });
  received.add_bounds(sent.min(), sent.max(), sent.sum());
  received.add_bucket(1'000'000, 1);  // none of its buckets
  CHECK(received.count() == 4);
  CHECK(received.percentile(50) == sent.percentile(50));
  CHECK(received.percentile(100) == 1'000'000);
  CHECK(received.mean() == sent.mean());
}
