// A hash table of index entries that is full of entries: 16 or 17 bytes a slot, no pointers.
//
//   rde::NeedleTable table(4, 8);
//   if (table.is_full()) table = table.grown();
//   table.put({key, offset, size});
//   if (auto entry = table.find(key)) read_record(entry->offset);
//
// Open addressing with linear probes. It fills up to kMaxLoad and then grows by a seventh only, so that
// its memory stays below 24 bytes an entry at any time. One thread at a time; NeedleIndex is for many.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "seaweed/index_entry.h"

namespace rde {

class NeedleTable {
 public:
  // `capacity` in slots, at least 1. Allocates only here and in grown().
  NeedleTable(unsigned offset_bytes, std::size_t capacity);

  [[nodiscard]] std::optional<IndexEntry> find(std::uint64_t key) const;
  // Adds the entry, or replaces the one with its key. The entry is not a deletion, and the table not full.
  void put(const IndexEntry& entry);
  // False: there was none.
  bool erase(std::uint64_t key);

  [[nodiscard]] bool is_full() const { return size_ >= limit_; }
  // A larger table with the same entries.
  [[nodiscard]] NeedleTable grown() const { return copy(capacity_ + capacity_ / 7 + 8); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t memory_bytes() const { return capacity_ * (high_ ? 17 : 16); }

 private:
  [[nodiscard]] NeedleTable copy(std::size_t capacity) const;
  [[nodiscard]] std::size_t home_of(std::uint64_t key) const;
  [[nodiscard]] std::size_t next(std::size_t slot) const { return slot + 1 == capacity_ ? 0 : slot + 1; }
  [[nodiscard]] bool is_free(std::size_t slot) const { return values_[slot] == 0 && (!high_ || high_[slot] == 0); }
  [[nodiscard]] IndexEntry entry_at(std::size_t slot) const;
  // The slot of the key, or the free one where it would go.
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const;

  std::size_t capacity_;
  std::size_t limit_;
  std::size_t size_ = 0;
  std::unique_ptr<std::uint64_t[]> keys_;
  std::unique_ptr<std::uint64_t[]> values_;  // low offset (in units of 8 bytes) 32 · size 32; 0 = free, see high_
  std::unique_ptr<std::uint8_t[]> high_;     // fifth byte of the offset; absent with 4-byte offsets
};

// Spreads keys over 64 bits. The seed differs in each process, so that nobody can choose keys that collide.
std::uint64_t spread_needle_key(std::uint64_t key);

}  // namespace rde
