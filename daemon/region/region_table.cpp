#include "region/region_table.h"

#include <openssl/crypto.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace rde {

RegionTable::Record* RegionTable::find(std::uint32_t index) const {
  if (index >= most_) return nullptr;
  Record* page = pages_[index / kPage].load(std::memory_order_acquire);
  return page == nullptr ? nullptr : page + index % kPage;
}

// The mutex is held. A record rests as long as there is room, so that its token is told how it ended.
std::optional<std::uint32_t> RegionTable::take_free() {
  if (used_ < most_ && free_.size() < kRestingRegions) {
    if (used_ % kPage == 0) {
      owned_pages_.push_back(std::make_unique<Record[]>(kPage));
      pages_[used_ / kPage].store(owned_pages_.back().get(), std::memory_order_release);
    }
    return used_++;
  }
  // One that is still pinned was closed a moment ago.
  const auto quiet = std::ranges::find_if(
      free_, [this](std::uint32_t index) { return find(index)->gate.load(std::memory_order_acquire) == kClosed; });
  if (quiet == free_.end()) return std::nullopt;
  const std::uint32_t index = *quiet;
  free_.erase(quiet);
  return index;
}

RegionTable::Exposed RegionTable::expose(const RegionGrant& grant) try {
  Exposed exposed{.token = {.epoch = epoch_}};
  if (getrandom(exposed.token.key, sizeof exposed.token.key, 0) != sizeof exposed.token.key)
    return {.status = Status::system_error};
  const std::lock_guard lock(mutex_);
  const auto index = take_free();
  if (!index) {
    counts_.refused.fetch_add(1, std::memory_order_relaxed);
    return {.status = Status::too_many_regions};
  }
  Record& record = *find(*index);
  record.generation = std::max(1U, record.generation + 1);
  record.owner = grant.owner;
  record.data = grant.bytes.data();
  record.length = grant.bytes.size();
  record.expires = grant.expires;
  record.rights = static_cast<std::uint8_t>(grant.rights);
  record.end = RegionEnd::none;
  std::memcpy(record.key.data(), exposed.token.key, record.key.size());
  exposed.token.region = Handle{*index, record.generation}.value();
  live_.fetch_add(1, std::memory_order_relaxed);
  counts_.exposed.fetch_add(1, std::memory_order_relaxed);
  // SYNC POINT gate: whoever pins the region sees the record as it is now.
  record.gate.store(0, std::memory_order_release);
  return exposed;
} catch (const std::bad_alloc&) {
  return {.status = Status::out_of_memory};
}

RegionPin RegionTable::reject(Status status) {
  counts_.rejected.fetch_add(1, std::memory_order_relaxed);
  return RegionPin(status);
}

Status RegionTable::why_closed(const Record& record, const rde_region_token& token) {
  const std::lock_guard lock(mutex_);
  const bool is_it = record.generation != 0 && record.generation == Handle::from(token.region).generation &&
                     CRYPTO_memcmp(record.key.data(), token.key, record.key.size()) == 0;
  if (!is_it) return Status::region_not_found;
  return record.end == RegionEnd::expired ? Status::region_expired : Status::region_revoked;
}

RegionPin RegionTable::pin(const rde_region_token& token, std::uint32_t rights, std::uint64_t offset,
                           std::uint64_t length, Nanoseconds now) {
  const Handle region = Handle::from(token.region);
  Record* record = token.epoch == epoch_ ? find(region.index) : nullptr;
  if (record == nullptr) return reject(Status::region_not_found);
  // SYNC POINT gate: a pin is either counted before close() sets the bit, and close()'s caller waits for it, or it is
  // not taken. A closed gate is never touched, so that nobody can hold up whoever waits.
  std::uint64_t gate = record->gate.load(std::memory_order_acquire);
  do {
    if ((gate & kClosed) != 0) return reject(why_closed(*record, token));
  } while (!record->gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire));
  RegionPin pin(record->gate, {});
  // In constant time: how long it takes must not say how much of a guessed key is right.
  if (record->generation != region.generation ||
      CRYPTO_memcmp(record->key.data(), token.key, record->key.size()) != 0) {
    return reject(Status::region_not_found);
  }
  if (now >= record->expires) return reject(Status::region_expired);
  if ((rights & ~std::uint32_t{record->rights}) != 0) return reject(Status::region_denied);
  if (offset > record->length || length > record->length - offset) return reject(Status::region_out_of_range);
  return std::move(pin).of({record->data + offset, length});
}

Status RegionTable::close(Handle region, std::uint64_t owner, RegionEnd why) {
  Record* record = find(region.index);
  if (record == nullptr || region.is_null()) return Status::invalid_handle;
  const std::lock_guard lock(mutex_);
  if (region.generation > record->generation) return Status::invalid_handle;
  if (region.generation != record->generation) return Status::stale_handle;
  if (record->owner != owner) return Status::permission_denied;
  if (record->end == RegionEnd::expired && why != RegionEnd::expired) {
    record->end = RegionEnd::revoked;
    return Status::ok;
  }
  if (record->end != RegionEnd::none) return Status::stale_handle;
  record->end = why;
  record->gate.fetch_or(kClosed, std::memory_order_acq_rel);  // SYNC POINT gate
  free_.push_back(region.index);
  live_.fetch_sub(1, std::memory_order_relaxed);
  auto& count = why == RegionEnd::expired       ? counts_.expired
                : why == RegionEnd::client_gone ? counts_.ended
                                                : counts_.revoked;
  count.fetch_add(1, std::memory_order_relaxed);
  return Status::ok;
}

bool RegionTable::is_pinned(Handle region) const {
  const Record* record = find(region.index);
  // Acquire: what the last pin did has happened. A record that somebody has exposed again was quiet before.
  if (record == nullptr) return false;
  const std::uint64_t gate = record->gate.load(std::memory_order_acquire);
  return (gate & kClosed) != 0 && gate != kClosed;
}

}  // namespace rde
