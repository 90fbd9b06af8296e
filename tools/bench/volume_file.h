// A SeaweedFS volume (format version 3) of one object, as a volume server leaves it on disk, for measures that read.
//
//   auto written = write_volume(folder, kStoreVolume, kStoreObject);      // folder/1.dat, 1.idx and 1.vif
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace rde::tools {

constexpr std::uint32_t kStoreVolume = 1;
constexpr std::uint64_t kStoreKey = 1;
constexpr std::uint32_t kStoreCookie = 0x5EED;
// The object of the measures that read: more than any cache of a processor holds. Its bytes start at kStoreData.
constexpr std::uint64_t kStoreObject = std::uint64_t{256} << 20;
constexpr std::uint64_t kStoreData = 8 + 20;

// Makes the folder where it is missing. `size` is 1 byte to 1 GiB. Errors: system_error.
Result<void> write_volume(const std::string& folder, std::uint32_t volume, std::uint64_t size);

}  // namespace rde::tools
