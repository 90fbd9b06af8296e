// Small sets of samples.
//
//   Summary s = summarize({3, 1, 2}, Better::lower);      // s.median == 2
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rde::tools {

enum class Better { lower, higher };

struct Summary {
  std::size_t n = 0;
  double min = 0;
  double median = 0;
  double p99 = 0;  // 99 of 100 samples are at least as good as this
};

// The value that `share` (0 to 1) of the sorted samples do not exceed; 0 for none.
inline double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1) + 0.5)];
}

inline Summary summarize(std::vector<double> samples, Better better) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  return {.n = samples.size(),
          .min = samples.front(),
          .median = quantile(samples, 0.5),
          .p99 = quantile(samples, better == Better::lower ? 0.99 : 0.01)};
}

inline double median_of(std::vector<double> samples) { return summarize(std::move(samples), Better::lower).median; }

}  // namespace rde::tools
