// Counts of values in log-linear buckets: 128 for each power of two, so that a percentile is at most 0.8 % too high.
//
//   Histogram latency;
//   latency.record(1'500);                     // any unit; here nanoseconds
//   latency.percentile(99.0);
//   total.merge(latency);
//
// One thread at a time. 58 KiB each; recording allocates nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace rde::tools {

class Histogram {
 public:
  Histogram() : counts_(kBuckets) {}

  void record(std::uint64_t value, std::uint64_t times = 1) {
    counts_[bucket_of(value)] += times;
    count_ += times;
    sum_ += static_cast<double>(value) * static_cast<double>(times);
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
  }

  // Smallest recorded bound that `percent` (0 to 100) of the values do not exceed; 0 when nothing was recorded.
  [[nodiscard]] std::uint64_t percentile(double percent) const {
    if (count_ == 0) return 0;
    const double wanted = std::clamp(percent, 0.0, 100.0) / 100.0 * static_cast<double>(count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return std::clamp(highest_of(i), min_, max_);
    }
    return max_;
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] std::uint64_t max() const { return max_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

  // For sending a histogram to another process: visit(bucket, count) for each bucket that is not empty.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      if (counts_[i] != 0) visit(i, counts_[i]);
    }
  }
  // And for taking it there; buckets that do not exist are dropped.
  void add_bucket(std::size_t bucket, std::uint64_t times) {
    if (bucket >= kBuckets) return;
    counts_[bucket] += times;
    count_ += times;
  }
  void add_bounds(std::uint64_t min, std::uint64_t max, double sum) {
    min_ = std::min(min_, min);
    max_ = std::max(max_, max);
    sum_ += sum;
  }

 private:
  // Values below 256 have a bucket each; above, the top 8 bits choose one.
  static constexpr unsigned kBits = 7;
  static constexpr std::uint64_t kHalf = std::uint64_t{1} << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) * kHalf;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < 2 * kHalf) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - kBits - 1;
    return shift * kHalf + (value >> shift);
  }
  static std::uint64_t highest_of(std::size_t bucket) {
    if (bucket < 2 * kHalf) return bucket;
    const auto shift = static_cast<unsigned>(bucket / kHalf) - 1;
    const std::uint64_t top = bucket - shift * kHalf;
    return (top << shift) + ((std::uint64_t{1} << shift) - 1);
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  double sum_ = 0;
  std::uint64_t min_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_ = 0;
};

}  // namespace rde::tools
