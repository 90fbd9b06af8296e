// CLOCK_MONOTONIC in nanoseconds: the clock of every deadline, in every process of a host.
#pragma once

#include <cstdint>
#include <ctime>

namespace rde {

using Nanoseconds = std::uint64_t;

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kSecond = 1'000'000'000;

inline Nanoseconds now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

}  // namespace rde
