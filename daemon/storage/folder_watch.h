// Tells which volumes of some folders have changed, by inotify.
//
//   rde::FolderWatch watch;
//   watch.add("/srv/weed");
//   poll(watch.descriptor() …);
//   if (watch.take().structure) scan_again();
//
// It may miss nothing silently: what overflows is reported as a change of structure. One thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/descriptor.h"

namespace rde {

class FolderWatch {
 public:
  FolderWatch();

  // -1 where the kernel refuses inotify; then there is never any news.
  [[nodiscard]] int descriptor() const { return inotify_.get(); }

  // Again for a folder that is watched already does nothing. False: it cannot be watched.
  bool add(const std::string& folder);

  struct News {
    bool structure = false;         // files came, went or were renamed
    std::set<std::uint32_t> grown;  // volumes whose index was written to
  };
  // What happened since. Does not wait.
  News take();

 private:
  Descriptor inotify_;
};

}  // namespace rde
