// Keeps a set of volumes in step with the folders they lie in. One thread.
//
//   rde::Catalog catalog({"/srv/weed"}, warn);
//   catalog.scan(now_ns());
//   auto set = catalog.volumes();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "storage/volume_set.h"

namespace rde {

class Catalog {
 public:
  using Warn = std::function<void(std::string_view)>;

  // How long a half-finished swap may keep the old files in use.
  static constexpr Nanoseconds kSwapPatience = kSecond;

  // Once `stop` is requested nothing more is opened, so that whoever waits for a scan waits for a moment only.
  Catalog(std::vector<std::string> folders, Warn warn, std::stop_token stop = {});

  // Lists the folders; opens what is new, brings up to date what is known, drops what is gone. Blocks on I/O.
  void scan(Nanoseconds now);
  // Brings one volume up to date. `suspect`: a record of it was not what its index says.
  void refresh(std::uint32_t id, bool suspect, Nanoseconds now);

  [[nodiscard]] const std::shared_ptr<const VolumeSet>& volumes() const { return set_; }
  // Closes volumes that were replaced or have gone, once nobody reads them any more. Here, so that no polling core
  // has to close one and free its index.
  void close_retired();
  // Is a swap under way in any volume? Then scan or refresh again soon.
  [[nodiscard]] bool is_unsettled() const;

 private:
  struct Known {
    std::shared_ptr<Volume> volume;
    Nanoseconds loaded_at = 0;   // when it was last opened, and how long that took:
    Nanoseconds load_time = 0;   // a suspicion alone must not make us load all the time
    Nanoseconds swap_since = 0;  // valid while the volume says Swap::waiting
  };
  // What could not be opened, so that it is tried and told again only when its files have changed.
  struct Broken {
    FileStamp data, index, info;
    unsigned sightings = 0;
  };

  bool open(std::uint32_t id, const std::string& base, Nanoseconds now);
  // False: the volume is gone.
  bool update(std::uint32_t id, Known& known, bool suspect, Nanoseconds now);
  void retire(std::shared_ptr<Volume> volume);
  void publish();

  std::vector<std::string> folders_;
  Warn warn_;
  std::stop_token stop_;
  std::map<std::uint32_t, Known> known_;
  std::vector<std::shared_ptr<Volume>> retired_;
  std::map<std::string, Broken> broken_;
  std::set<std::string> told_;  // duplicates and folders that were warned of
  std::shared_ptr<const VolumeSet> set_ = std::make_shared<VolumeSet>();
  bool changed_ = false;
};

}  // namespace rde
