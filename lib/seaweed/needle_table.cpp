#include "seaweed/needle_table.h"

#include <random>

namespace rde {
namespace {

constexpr std::size_t kMaxLoadPercent = 85;

const std::uint64_t kSeed = [] {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}();

}  // namespace

std::uint64_t spread_needle_key(std::uint64_t key) {
  std::uint64_t x = key ^ kSeed;  // then the finisher of splitmix64
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

NeedleTable::NeedleTable(unsigned offset_bytes, std::size_t capacity)
    : capacity_(capacity),
      // One slot stays free at least: it ends every probe.
      limit_(capacity * kMaxLoadPercent / 100),
      keys_(std::make_unique<std::uint64_t[]>(capacity)),
      values_(std::make_unique<std::uint64_t[]>(capacity)),
      high_(offset_bytes == 5 ? std::make_unique<std::uint8_t[]>(capacity) : nullptr) {}

std::size_t NeedleTable::home_of(std::uint64_t key) const {
  // The high bits choose, in order: so grown() writes its new table from front to back.
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide{spread_needle_key(key)} * capacity_) >> 64);
}

IndexEntry NeedleTable::entry_at(std::size_t slot) const {
  const std::uint64_t high = high_ ? high_[slot] : 0;
  return {keys_[slot], (high << 32 | values_[slot] >> 32) * 8, static_cast<std::int32_t>(values_[slot])};
}

std::size_t NeedleTable::slot_of(std::uint64_t key) const {
  std::size_t slot = home_of(key);
  while (!is_free(slot) && keys_[slot] != key) slot = next(slot);
  return slot;
}

std::optional<IndexEntry> NeedleTable::find(std::uint64_t key) const {
  const std::size_t slot = slot_of(key);
  if (is_free(slot)) return std::nullopt;
  return entry_at(slot);
}

void NeedleTable::put(const IndexEntry& entry) {
  const std::size_t slot = slot_of(entry.key);
  if (is_free(slot)) ++size_;
  const std::uint64_t units = entry.offset / 8;
  keys_[slot] = entry.key;
  values_[slot] = units << 32 | static_cast<std::uint32_t>(entry.size);
  if (high_) high_[slot] = static_cast<std::uint8_t>(units >> 32);
}

bool NeedleTable::erase(std::uint64_t key) {
  std::size_t hole = slot_of(key);
  if (is_free(hole)) return false;
  // Entries behind the hole move up into it where a probe from their home would pass it; so no
  // tombstones are needed.
  for (std::size_t slot = next(hole); !is_free(slot); slot = next(slot)) {
    const std::size_t home = home_of(keys_[slot]);
    const std::size_t from_home = slot >= home ? slot - home : slot + capacity_ - home;
    const std::size_t from_hole = slot >= hole ? slot - hole : slot + capacity_ - hole;
    if (from_home < from_hole) continue;
    keys_[hole] = keys_[slot];
    values_[hole] = values_[slot];
    if (high_) high_[hole] = high_[slot];
    hole = slot;
  }
  values_[hole] = 0;
  if (high_) high_[hole] = 0;
  --size_;
  return true;
}

NeedleTable NeedleTable::copy(std::size_t capacity) const {
  NeedleTable larger(high_ ? 5 : 4, capacity);
  for (std::size_t slot = 0; slot < capacity_; ++slot) {
    if (!is_free(slot)) larger.put(entry_at(slot));
  }
  return larger;
}

}  // namespace rde
