// The files of a volume, by name and by what stat says of them.
//
//   for (const auto& name : *rde::list_volumes("/srv/weed")) ...   // "7", "pictures_8"
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rde {

// "7" or "COLLECTION_7"; the collection may hold underscores itself. Nothing for any other text.
std::optional<std::uint32_t> volume_id_of(std::string_view name);

// Names (without extension) that have a .dat or a .vif in the folder, sorted. A volume that is still being
// copied in (a .note lies beside it) is left out. Errors: system_error.
Result<std::vector<std::string>> list_volumes(const std::string& folder);

struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0 = there is no such file
  std::uint64_t size = 0;   // bytes
  std::uint64_t modified_ns = 0;

  [[nodiscard]] bool exists() const { return inode != 0; }
  [[nodiscard]] bool is_same_file(const FileStamp& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const FileStamp&) const = default;
};

// A file that is absent, no regular file or out of reach does not exist. One system call.
FileStamp stamp_of(const std::string& path);
FileStamp stamp_of(int fd);

}  // namespace rde
