#include "dump/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace rde::tools {
namespace {

// What the kernel calls a memfd named rde-segment; the name alone, not its content, tells that it is one.
constexpr std::string_view kName = "/memfd:rde-segment (deleted)";

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::string link_of(const std::string& path) {
  std::array<char, 256> text;
  const ssize_t length = readlink(path.c_str(), text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

class Finder {
 public:
  explicit Finder(std::uint32_t pid) : pid_(std::to_string(pid)), proc_("/proc/" + pid_) {}

  Result<ProcessSegments> find() {
    if (auto looked = by_descriptor(); !looked) return looked.error();
    if (auto looked = by_mapping(); !looked) return looked.error();
    return std::move(found_);
  }

 private:
  Result<void> by_descriptor() {
    const std::string folder = proc_ + "/fd";
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(folder.c_str()));
    if (!directory) {
      return system_error(
          "look into process " + pid_ + (errno == ENOENT ? " (it is not running)" : " (as its user or root)"), errno);
    }
    while (const dirent* entry = readdir(directory.get())) {
      const std::string path = folder + "/" + entry->d_name;
      if (link_of(path) == kName) take(path, "pid " + pid_ + ", descriptor " + entry->d_name);
    }
    return {};
  }

  // A client keeps the mapping alone.
  Result<void> by_mapping() {
    std::ifstream file(proc_ + "/maps");
    const std::string maps{std::istreambuf_iterator<char>(file), {}};
    for (const auto& mapped : parse_maps(maps)) {
      if (std::ranges::find(inodes_, mapped.inode) != inodes_.end()) continue;
      const std::string label = "pid " + pid_ + ", mapping " + mapped.range;
      if (take(proc_ + "/map_files/" + mapped.range, label)) continue;
      // map_files wants a capability that memory of one's own processes does not.
      Descriptor memory(open((proc_ + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
      if (!memory) {
        found_.notes.push_back(system_error(label, errno).text);
        continue;
      }
      inodes_.push_back(mapped.inode);
      found_.sources.push_back({.file = std::move(memory),
                                .base = mapped.start,
                                .size = mapped.end - mapped.start,
                                .live = true,
                                .label = label});
    }
    return {};
  }

  bool take(const std::string& path, const std::string& label) {
    Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0) return false;
    if (std::ranges::find(inodes_, status.st_ino) != inodes_.end()) return true;
    inodes_.push_back(status.st_ino);
    found_.sources.push_back({.file = std::move(file), .base = 0, .size = std::nullopt, .live = true, .label = label});
    return true;
  }

  std::string pid_;
  std::string proc_;
  std::vector<std::uint64_t> inodes_;
  ProcessSegments found_;
};

}  // namespace

Result<ProcessSegments> find_in_process(std::uint32_t pid) { return Finder(pid).find(); }

std::vector<MappedSegment> parse_maps(std::string_view maps) {
  std::vector<MappedSegment> found;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.ends_with(kName)) continue;
    std::istringstream fields(line);
    std::string range, rights, device;
    std::uint64_t offset = 0, inode = 0;
    fields >> range >> rights >> std::hex >> offset >> device >> std::dec >> inode;
    std::uint64_t start = 0, end = 0;
    char dash = 0;
    std::istringstream(range) >> std::hex >> start >> dash >> end;
    if (!fields || dash != '-' || end <= start) continue;
    const bool goes_on = !found.empty() && found.back().inode == inode && found.back().end == start &&
                         offset == start - found.back().start;
    if (goes_on) {
      found.back().end = end;
    } else if (offset == 0) {
      found.push_back({start, end, inode, range});
    }
  }
  return found;
}

}  // namespace rde::tools
