// Tunables of regions, each with its reason.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace rde {

inline constexpr std::uint32_t kMostRegions = 65'536;     // exposed at once in an engine: 4 MiB of records
inline constexpr std::uint32_t kRegionsPerClient = 1024;  // exposed by one client
inline constexpr std::uint32_t kOpenedPerClient = 1024;   // handles of REGION_OPEN
inline constexpr std::uint32_t kFlushesPerRegion = 64;    // waiting for the writes before them, on one handle
inline constexpr std::uint32_t kRestingRegions = 1024;    // records that ended last, and still know how they ended
inline constexpr Nanoseconds kDefaultRegionLife = 300 * kSecond;
inline constexpr Nanoseconds kLongestRegionLife = 86'400 * kSecond;
// A copy of the engine holds up its polling core: one step of it is no more than a small request costs.
inline constexpr std::uint32_t kRegionStep = 256 << 10;
inline constexpr std::uint32_t kEndsAtOnce = 64;          // cancelled jobs inside the engine, ended in one turn
inline constexpr std::uint32_t kRegionAtOnce = 64 << 10;  // up to here a transfer inside the engine is done at once
static_assert(kRegionAtOnce <= kRegionStep);
static_assert(kRestingRegions < kMostRegions);

}  // namespace rde
