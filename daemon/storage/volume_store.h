// The volumes of this engine, kept in step with the folders by a thread of its own.
//
//   auto store = rde::VolumeStore::open({.folders = {"/srv/weed"}, .warn = log_warning});
//   announce((*store)->served());            // and again when (*store)->generation() has changed
//   auto reader = rde::StorageReader::open(**store);   // one for each polling core
//
// The store outlives its readers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/status.h"
#include "storage/catalog.h"
#include "storage/folder_watch.h"
#include "storage/needle_cache.h"
#include "storage/volume_set.h"

namespace rde {

struct StoreOptions {
  std::vector<std::string> folders;        // none is an empty store
  Nanoseconds poll_interval = kSecond;     // looks at everything this often, whatever inotify says
  std::size_t cached_needles = 64 * 1024;  // of 80 bytes; metadata only
  std::function<void(std::string_view)> warn = [](std::string_view) {};  // any thread, must not block
};

class VolumeStore {
 public:
  // Opens all volumes before it returns. Errors: invalid_request for a folder that cannot be listed, by name;
  // system_error. A volume that cannot be opened is warned of and left out.
  static Result<std::unique_ptr<VolumeStore>> open(StoreOptions options);
  ~VolumeStore();
  VolumeStore(const VolumeStore&) = delete;
  VolumeStore& operator=(const VolumeStore&) = delete;

  // Changes when the set of served volumes does; starts at 1. Any thread.
  [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Ids of volumes whose bytes are here, ascending. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> served() const { return volumes()->served(); }
  [[nodiscard]] std::shared_ptr<const VolumeSet> volumes() const;

  // The rest is for readers. version() changes whenever volumes() does.
  [[nodiscard]] std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Has a volume looked at again; done when checked() has reached the answer. Never blocks on I/O.
  std::uint64_t request_check(std::uint32_t volume, bool suspect);
  [[nodiscard]] std::uint64_t checked() const { return checked_.load(std::memory_order_acquire); }
  // An eventfd to write to after each round of checks.
  void add_listener(int event_fd);
  void remove_listener(int event_fd);
  NeedleCache& cache() { return cache_; }
  void warn(std::string_view text) const { options_.warn(text); }

 private:
  struct Request {
    std::uint32_t volume = 0;
    bool suspect = false;
  };

  explicit VolumeStore(StoreOptions options);
  void watch_folders();
  void follow();
  void wait(Nanoseconds until);
  void run_round(bool scan_due);
  void publish();

  const StoreOptions options_;
  std::stop_source stop_;
  Descriptor wake_;
  NeedleCache cache_;

  // The follower's own.
  Catalog catalog_;
  FolderWatch watch_;
  bool told_unwatched_ = false;

  mutable std::mutex mutex_;  // guards the next four; held for moments only
  std::shared_ptr<const VolumeSet> set_;
  std::vector<Request> requests_;
  std::uint64_t requested_ = 0;
  std::vector<int> listeners_;

  std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::uint64_t> checked_ = 0;
  std::thread thread_;
};

}  // namespace rde
