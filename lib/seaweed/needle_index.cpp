#include "seaweed/needle_index.h"

namespace rde {
namespace {

constexpr std::size_t kFirstCapacity = 8;

}  // namespace

NeedleIndex::NeedleIndex(unsigned offset_bytes)
    : offset_bytes_(offset_bytes), segments_(std::make_unique<Segment[]>(kSegments)) {}

void NeedleIndex::apply(const IndexEntry& entry) {
  Segment& segment = segments_[segment_of(entry.key)];
  if (entry.is_deleted()) {
    const std::lock_guard guard(segment.lock);
    if (segment.table && segment.table->erase(entry.key)) size_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // Only this thread changes tables, so it may read the present one without the lock.
  std::unique_ptr<NeedleTable> larger;
  if (!segment.table) {
    larger = std::make_unique<NeedleTable>(offset_bytes_, kFirstCapacity);
  } else if (segment.table->is_full()) {
    larger = std::make_unique<NeedleTable>(segment.table->grown());
  }
  const std::lock_guard guard(segment.lock);
  if (larger) segment.table.swap(larger);
  const std::size_t before = segment.table->size();
  segment.table->put(entry);
  size_.fetch_add(segment.table->size() - before, std::memory_order_relaxed);
}

std::optional<IndexEntry> NeedleIndex::find(std::uint64_t key) const {
  const Segment& segment = segments_[segment_of(key)];
  const std::lock_guard guard(segment.lock);
  return segment.table ? segment.table->find(key) : std::nullopt;
}

std::size_t NeedleIndex::memory_bytes() const {
  std::size_t bytes = sizeof *this + kSegments * sizeof(Segment);
  for (std::size_t i = 0; i < kSegments; ++i) {
    const std::lock_guard guard(segments_[i].lock);
    if (segments_[i].table) bytes += segments_[i].table->memory_bytes() + sizeof(NeedleTable);
  }
  return bytes;
}

}  // namespace rde
