#include "storage/needle_cache.h"

#include <algorithm>

#include "seaweed/needle_table.h"

namespace rde {

NeedleCache::NeedleCache(std::size_t entries)
    : sets_(std::max<std::size_t>(1, entries / kWays)), table_(std::make_unique<Set[]>(sets_)) {}

NeedleCache::Set& NeedleCache::set_of(std::uint64_t instance, std::uint64_t offset) const {
  return table_[spread_needle_key(offset + spread_needle_key(instance)) % sets_];
}

std::optional<KnownNeedle> NeedleCache::find(std::uint64_t instance, std::uint64_t offset) const {
  const Set& set = set_of(instance, offset);
  const std::lock_guard guard(set.lock);
  for (const auto& way : set.ways) {
    if (way.instance == instance && way.offset == offset) return way;
  }
  return std::nullopt;
}

void NeedleCache::put(const KnownNeedle& needle) {
  Set& set = set_of(needle.instance, needle.offset);
  const std::lock_guard guard(set.lock);
  for (auto& way : set.ways) {
    if (way.instance == needle.instance && way.offset == needle.offset) {
      way = needle;
      return;
    }
  }
  set.ways[set.next++ % kWays] = needle;
}

void NeedleCache::forget(std::uint64_t instance, std::uint64_t offset) {
  Set& set = set_of(instance, offset);
  const std::lock_guard guard(set.lock);
  for (auto& way : set.ways) {
    if (way.instance == instance && way.offset == offset) way = {};
  }
}

}  // namespace rde
