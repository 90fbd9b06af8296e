// The volumes of an export at one moment. Never changes; the store publishes another one instead.
//
//   if (auto volume = set->find(7)) read_from(*volume);
//
// A set does not keep its volumes open: whoever holds an old one must not hold the disk space of files that a
// vacuum has long replaced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "storage/volume.h"

namespace rde {

class VolumeSet {
 public:
  struct Member {
    std::uint32_t id = 0;
    bool is_remote = false;
    std::weak_ptr<Volume> volume;
  };

  VolumeSet() = default;
  explicit VolumeSet(std::vector<Member> members) : members_(std::move(members)) {
    std::ranges::sort(members_, {}, &Member::id);
  }

  // Null where there is none, or none any more.
  [[nodiscard]] std::shared_ptr<Volume> find(std::uint32_t id) const {
    const auto found = std::ranges::lower_bound(members_, id, {}, &Member::id);
    return found != members_.end() && found->id == id ? found->volume.lock() : nullptr;
  }

  // Ids of the volumes whose bytes are here: a remote one is known, but not served.
  [[nodiscard]] std::vector<std::uint32_t> served() const {
    std::vector<std::uint32_t> ids;
    for (const auto& member : members_) {
      if (!member.is_remote) ids.push_back(member.id);
    }
    return ids;
  }

 private:
  std::vector<Member> members_;
};

}  // namespace rde
