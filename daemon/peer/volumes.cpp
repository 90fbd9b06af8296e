#include "peer/volumes.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "peer/protocol.h"

namespace rde {

bool VolumeSnapshot::refresh(const VolumeList* list) {
  if (list == nullptr || list->generation() == generation) return false;
  generation = list->generation();
  ids.clear();
  list->list(ids);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > wire::kMaxVolumes) ids.resize(wire::kMaxVolumes);
  return true;
}

Status VolumeAnnouncer::advance(Link& link, const VolumeSnapshot& snapshot) {
  while (!is_done_) {
    const auto total = static_cast<std::uint32_t>(snapshot.ids.size());
    const std::uint32_t count = std::min(total - next_, wire::kIdsPerMessage);
    wire::VolumesMessage part{.head = wire::head_of<wire::VolumesMessage>(wire::kVolumes),
                              .generation = snapshot.generation,
                              .first = next_,
                              .total = total,
                              .count = count,
                              .reserved = 0};
    const std::size_t size = sizeof(part) + count * sizeof(std::uint32_t);
    part.head.size = static_cast<std::uint16_t>(size);
    std::array<std::byte, Link::kMaxMessage> message;
    std::memcpy(message.data(), &part, sizeof(part));
    std::memcpy(message.data() + sizeof(part), snapshot.ids.data() + next_, size - sizeof(part));
    const Status status = link.send(std::span<const std::byte>(message).first(size));
    if (status == Status::peer_busy) return Status::ok;
    if (status != Status::ok) return status;
    next_ += count;
    is_done_ = next_ == total;
  }
  return Status::ok;
}

Result<void> VolumeCatalog::on_message(std::span<const std::byte> message) {
  const auto part = wire::parse_volumes(message);
  if (!part) return part.error();
  const auto wrong = [](const char* field, std::uint64_t value, std::uint64_t expected) {
    return Error{Status::protocol_error, std::string("volumes.") + field + " is " + std::to_string(value) +
                                             ", must be " + std::to_string(expected) + " after the part before it"};
  };
  if (part->first == 0) {
    coming_.clear();
    coming_generation_ = part->generation;
    coming_total_ = part->total;
  }
  if (part->first != coming_.size()) return wrong("first", part->first, coming_.size());
  if (part->generation != coming_generation_) return wrong("generation", part->generation, coming_generation_);
  if (part->total != coming_total_) return wrong("total", part->total, coming_total_);
  for (std::uint32_t i = 0; i < part->count; ++i) {
    std::uint32_t id = 0;
    std::memcpy(&id, message.data() + sizeof(*part) + i * sizeof(id), sizeof(id));
    if (!coming_.empty() && id <= coming_.back()) {
      return Error{Status::protocol_error, "volumes.ids has " + std::to_string(id) + " after " +
                                               std::to_string(coming_.back()) + ", must ascend"};
    }
    coming_.push_back(id);
  }
  if (coming_.size() == coming_total_) {
    ids_.swap(coming_);
    coming_.clear();
    generation_ = coming_generation_;
    is_known_ = true;
  }
  return {};
}

bool VolumeCatalog::has(std::uint32_t volume) const { return std::ranges::binary_search(ids_, volume); }

void VolumeCatalog::clear() {
  ids_.clear();
  coming_.clear();
  is_known_ = false;
}

}  // namespace rde
