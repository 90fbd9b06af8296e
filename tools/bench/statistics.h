// Small sets of samples.
//
//   Summary s = summarize({3, 1, 2}, Better::lower);      // s.median == 2
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
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

// Pairs of a share and its quantile, as far out as there are samples for.
inline std::vector<std::pair<double, double>> percentiles_of(std::vector<double> samples) {
  constexpr std::array kShares{0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 0.9995, 0.9999};
  std::vector<std::pair<double, double>> result;
  std::ranges::sort(samples);
  for (const double share : kShares) {
    if ((1 - share) * static_cast<double>(samples.size()) >= 1) result.emplace_back(share, quantile(samples, share));
  }
  return result;
}

inline double median_of(std::vector<double> samples) { return summarize(std::move(samples), Better::lower).median; }

}  // namespace rde::tools
