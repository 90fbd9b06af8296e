// One volume as it was opened: descriptors, superblock, index. A vacuum makes another Volume of it.
//
//   auto volume = rde::Volume::open("/srv/weed/pictures_7");
//   if (auto entry = (*volume)->find(key)) pread((*volume)->data_fd(), …, entry->offset);
//
// The descriptors stay open as long as anybody holds the Volume, so a read that has begun ends on the
// bytes it began with, whatever is renamed over them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/descriptor.h"
#include "base/status.h"
#include "seaweed/needle_index.h"
#include "seaweed/superblock.h"
#include "seaweed/volume_info.h"
#include "storage/volume_files.h"

namespace rde {

class Volume {
 public:
  // `base` is the path without extension. Reads the whole index: for the follower's thread, never for a
  // polling core. Errors: system_error (a file cannot be opened), io_error, volume_corrupt.
  // Once `stop` is requested: draining.
  static Result<std::shared_ptr<Volume>> open(const std::string& base, const std::stop_token& stop = {});

  // Any thread, no I/O.
  [[nodiscard]] const std::string& base() const { return base_; }
  [[nodiscard]] std::uint64_t instance() const { return instance_; }  // no two Volumes of a process share it
  [[nodiscard]] bool is_remote() const { return info_.is_remote; }    // then there is nothing else to ask
  [[nodiscard]] unsigned version() const { return version_; }         // of the records
  [[nodiscard]] Ttl ttl() const { return superblock_.ttl; }
  [[nodiscard]] unsigned offset_bytes() const { return info_.offset_bytes; }
  [[nodiscard]] std::uint16_t compaction_revision() const { return superblock_.compaction_revision; }
  [[nodiscard]] int data_fd() const { return data_.get(); }
  [[nodiscard]] std::optional<IndexEntry> find(std::uint64_t key) const { return index_.find(key); }
  [[nodiscard]] const NeedleIndex& index() const { return index_; }

  // A swap is two renames. While only one has come (waiting) this Volume still is the old pair, and right. When the
  // second did not come in time (overdue) it is an old file beside a new one, and many records will not match.
  enum class Swap : std::uint8_t { settled, waiting, overdue };
  [[nodiscard]] Swap swap() const { return swap_.load(std::memory_order_acquire); }
  void set_swap(Swap swap) { swap_.store(swap, std::memory_order_release); }

  // Has the index grown, or does another file stand in the place of one of ours? Any thread; a few stats.
  [[nodiscard]] bool looks_changed() const;

  enum class State : std::uint8_t {
    current,
    grown,          // read_tail() brings it up to date
    half_replaced,  // one of data and index is another file: a swap is under way
    replaced,       // open it again
    gone,
  };
  // What has become of the files since. Follower's thread; a few stats and one small read.
  [[nodiscard]] State examine();
  // As examine(), for when a record was not what the index says: rewritten in place counts as replaced.
  [[nodiscard]] State examine_closely();
  // Takes in what was appended to the index. Follower's thread. Errors: io_error; draining, once `stop` is requested.
  Result<void> read_tail(const std::stop_token& stop = {});

 private:
  explicit Volume(std::string base, const VolumeInfo& info);
  Result<void> open_files();

  static constexpr std::size_t kPiece = std::size_t{1} << 20;

  const std::string base_;
  const std::uint64_t instance_;
  VolumeInfo info_;
  Superblock superblock_;
  unsigned version_ = 0;
  Descriptor data_;
  Descriptor index_file_;
  FileStamp data_stamp_;  // when opened, as index_stamp_
  FileStamp index_stamp_;
  FileStamp info_stamp_;  // when last read, as tail_stamp_; the follower's own
  FileStamp tail_stamp_;
  std::atomic<Swap> swap_ = Swap::settled;
  std::atomic<std::uint64_t> consumed_ = 0;  // bytes of the index file
  NeedleIndex index_;
};

}  // namespace rde
