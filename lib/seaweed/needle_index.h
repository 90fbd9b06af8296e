// Where each needle of a volume lies. One thread writes, any number look up meanwhile.
//
//   rde::NeedleIndex index(4);
//   index.apply(rde::parse_index_entry(bytes, 4));      // in the order of the .idx file
//   if (auto entry = index.find(key)) read_record(entry->offset);
//
// The index is cut into segments by hash. Each has a lock that is held for one probe or one change, never
// while a table grows: the writer builds the larger table beside the old one and swaps them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "seaweed/index_entry.h"
#include "seaweed/needle_table.h"

namespace rde {

class NeedleIndex {
 public:
  explicit NeedleIndex(unsigned offset_bytes);  // 4 or 5

  // The last entry of a key wins; a deletion removes it. One thread at a time.
  void apply(const IndexEntry& entry);

  // Nothing for a key that was never written, or was deleted. Any thread.
  [[nodiscard]] std::optional<IndexEntry> find(std::uint64_t key) const;

  // Any thread; exact while nobody writes.
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t memory_bytes() const;
  [[nodiscard]] unsigned offset_bytes() const { return offset_bytes_; }

 private:
  static constexpr std::size_t kSegments = 64;

  struct alignas(64) Segment {
    mutable std::mutex lock;
    std::unique_ptr<NeedleTable> table;  // absent until something is put
  };

  static std::size_t segment_of(std::uint64_t key) { return spread_needle_key(key) % kSegments; }

  unsigned offset_bytes_;
  std::atomic<std::size_t> size_ = 0;
  std::unique_ptr<Segment[]> segments_;
};

}  // namespace rde
