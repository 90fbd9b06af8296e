#include "storage/volume_files.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

namespace rde {
namespace {

FileStamp stamp_from(const struct stat& found) {
  if (!S_ISREG(found.st_mode)) return {};
  const auto seconds = static_cast<std::uint64_t>(found.st_mtim.tv_sec);
  return {found.st_dev, found.st_ino, static_cast<std::uint64_t>(found.st_size),
          seconds * 1'000'000'000 + static_cast<std::uint64_t>(found.st_mtim.tv_nsec)};
}

}  // namespace

std::optional<std::uint32_t> volume_id_of(std::string_view name) {
  const auto underscore = name.rfind('_');
  if (underscore == 0) return std::nullopt;
  if (underscore != std::string_view::npos) name.remove_prefix(underscore + 1);
  std::uint32_t id = 0;
  const char* end = name.data() + name.size();
  const auto read = std::from_chars(name.data(), end, id);
  if (name.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return id;
}

Result<std::vector<std::string>> list_volumes(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open) return system_error("export folder '" + folder + "'", errno);
  std::set<std::string> names;
  std::set<std::string> incomplete;
  errno = 0;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view file = entry->d_name;
    const auto dot = file.rfind('.');
    if (dot == std::string_view::npos || !volume_id_of(file.substr(0, dot))) continue;
    const auto extension = file.substr(dot);
    if (extension == ".dat" || extension == ".vif") names.emplace(file.substr(0, dot));
    if (extension == ".note") incomplete.emplace(file.substr(0, dot));
  }
  if (errno != 0) return system_error("export folder '" + folder + "'", errno);
  std::vector<std::string> complete;
  std::ranges::set_difference(names, incomplete, std::back_inserter(complete));
  return complete;
}

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? stamp_from(found) : FileStamp{};
}

FileStamp stamp_of(int fd) {
  struct stat found {};
  return fstat(fd, &found) == 0 ? stamp_from(found) : FileStamp{};
}

}  // namespace rde
