// A time to live as SeaweedFS stores it: a count and a unit.
//
//   rde::Ttl ttl{3, rde::Ttl::kHour};
//   bool gone = ttl.end_of(append_at_ns) <= now;   // where it is not 0
#pragma once

#include <cstdint>

namespace rde {

struct Ttl {
  static constexpr std::uint8_t kMinute = 1, kHour = 2, kDay = 3, kWeek = 4, kMonth = 5, kYear = 6;

  std::uint8_t count = 0;
  std::uint8_t unit = 0;

  // 0 = lives for ever: no count, or a unit that SeaweedFS does not know. A month has 30 days, a year 365.
  [[nodiscard]] constexpr std::uint64_t seconds() const {
    constexpr std::uint64_t kSecondsOf[] = {0, 60, 3'600, 86'400, 604'800, 2'592'000, 31'536'000};
    return unit <= kYear ? count * kSecondsOf[unit] : 0;
  }

  // When something written at `since_ns` expires; 0 = never. Both count from 1970.
  [[nodiscard]] constexpr std::uint64_t end_of(std::uint64_t since_ns) const {
    const std::uint64_t lives_ns = seconds() * 1'000'000'000;  // at most 255 years: 8.1e18, below 2^63
    if (lives_ns == 0 || since_ns > ~std::uint64_t{0} - lives_ns) return 0;
    return since_ns + lives_ns;
  }

  bool operator==(const Ttl&) const = default;
};

}  // namespace rde
