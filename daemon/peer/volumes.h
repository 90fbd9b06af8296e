// Which volumes an engine has: told by the owner, remembered by its peers.
//
//   class MyVolumes : public VolumeList { … };            // this engine's
//   VolumeCatalog catalog;                                 // a peer's
//   if (auto taken = catalog.on_message(bytes); !taken) …  // VOLUMES, part by part
//   if (catalog.has(7)) …
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "transport/transport.h"

namespace rde {

// The volumes that this engine exports. Called by the shard's thread, from PeerHub::progress() alone.
class VolumeList {
 public:
  virtual ~VolumeList() = default;
  // Grows when the list changes. Cheap: it is asked for at every progress().
  [[nodiscard]] virtual std::uint64_t generation() const = 0;
  // Appends the ids, in any order.
  virtual void list(std::vector<std::uint32_t>& ids) const = 0;
};

// What goes out: the list at one moment, ascending, without repetitions.
struct VolumeSnapshot {
  std::uint64_t generation = 0;
  std::vector<std::uint32_t> ids;

  // Reads the list again where its generation has changed; true when it did.
  bool refresh(const VolumeList* list);
};

// Sends a snapshot in parts, as fast as the link takes them.
class VolumeAnnouncer {
 public:
  // The next call of advance() starts over with the snapshot given there.
  void restart() { next_ = 0, is_done_ = false; }
  // ok (also while the link is full), or what the link said.
  Status advance(Link& link, const VolumeSnapshot& snapshot);
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  std::uint32_t next_ = 0;
  bool is_done_ = true;
};

// What came in. Searchable as soon as a list is whole; the next one replaces it when it is whole.
class VolumeCatalog {
 public:
  Result<void> on_message(std::span<const std::byte> message);
  [[nodiscard]] bool has(std::uint32_t volume) const;
  [[nodiscard]] std::size_t size() const { return ids_.size(); }
  [[nodiscard]] bool is_known() const { return is_known_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  void clear();

 private:
  std::vector<std::uint32_t> ids_;
  std::uint64_t generation_ = 0;
  bool is_known_ = false;
  std::vector<std::uint32_t> coming_;
  std::uint64_t coming_generation_ = 0;
  std::uint32_t coming_total_ = 0;
};

}  // namespace rde
