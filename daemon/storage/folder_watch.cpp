#include "storage/folder_watch.h"

#include <sys/inotify.h>

#include <cstring>

#include "storage/volume_files.h"

namespace rde {
namespace {

constexpr std::uint32_t kStructure =
    IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF;
constexpr std::uint32_t kLost = IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF;

void note(const inotify_event& event, FolderWatch::News& news) {
  if (event.mask & kLost) news.structure = true;
  if (event.len == 0) return;
  const std::string_view file = event.name;  // NUL-padded
  const auto dot = file.rfind('.');
  if (dot == std::string_view::npos) return;
  const auto extension = file.substr(dot);
  const bool index = extension == ".idx";
  if (!index && extension != ".dat" && extension != ".vif" && extension != ".note") return;
  const auto id = volume_id_of(file.substr(0, dot));
  if (!id) return;
  if (event.mask & kStructure) news.structure = true;
  if ((event.mask & IN_MODIFY) && index) news.grown.insert(*id);
}

}  // namespace

FolderWatch::FolderWatch() : inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

bool FolderWatch::add(const std::string& folder) {
  return inotify_ && inotify_add_watch(inotify_.get(), folder.c_str(), kStructure | IN_MODIFY | IN_ONLYDIR) >= 0;
}

FolderWatch::News FolderWatch::take() {
  News news;
  alignas(inotify_event) char buffer[16 * 1024];
  while (inotify_) {
    const ssize_t got = read(inotify_.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
      note(*event, news);
      at += static_cast<ssize_t>(sizeof *event + event->len);
    }
  }
  return news;
}

}  // namespace rde
