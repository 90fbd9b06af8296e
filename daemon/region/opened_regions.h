// The regions of others that one client has opened by their tokens: handles, and which writes a FLUSH has to wait for.
// Owner thread only.
//
//   const auto handle = opened.add(peer, token);                   // null handle: as many as there may be
//   if (OpenedRegion* region = opened.find(handle)) …
//   opened.remove(handle);
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/handle.h"
#include "base/status.h"
#include "rde_layout.h"
#include "region/region_limits.h"

namespace rde {

class Operation;

struct OpenedRegion {
  std::uint32_t generation = 0;
  bool is_open = false;
  Handle peer;  // null: this engine
  rde_region_token token{};
  std::uint64_t order = 0;          // of the last operation that was begun
  std::uint32_t changing = 0;       // writes and atomic operations under way
  std::vector<Operation*> flushes;  // each waits for those that were under way when it came
};

class OpenedRegions {
 public:
  Handle add(Handle peer, const rde_region_token& token) {
    std::uint32_t index = 0;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else if (regions_.size() < kOpenedPerClient) {
      index = static_cast<std::uint32_t>(regions_.size());
      regions_.emplace_back();
    } else {
      return {};
    }
    OpenedRegion& region = regions_[index];
    const std::uint32_t generation = region.generation + 1 == 0 ? 1 : region.generation + 1;
    region = {.generation = generation, .is_open = true, .peer = peer, .token = token};
    return {index, generation};
  }
  OpenedRegion* find(Handle handle) {
    if (handle.index >= regions_.size()) return nullptr;
    OpenedRegion& region = regions_[handle.index];
    return region.is_open && region.generation == handle.generation ? &region : nullptr;
  }
  // Why find() found nothing.
  [[nodiscard]] Status why_not(Handle handle) const {
    const bool was_given =
        handle.index < regions_.size() && !handle.is_null() && handle.generation <= regions_[handle.index].generation;
    return was_given ? Status::stale_handle : Status::invalid_handle;
  }
  void remove(Handle handle) {
    regions_[handle.index].is_open = false;
    free_.push_back(handle.index);
  }

 private:
  std::deque<OpenedRegion> regions_;  // never move
  std::vector<std::uint32_t> free_;
};

}  // namespace rde
