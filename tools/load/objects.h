// The objects that a load reads, and what their bytes must be: lines "VID,FID SIZE SHA256".
//
//   auto objects = read_objects("objects.txt");
//   if (!objects) return objects.error();
//
// Empty lines and lines that start with # are passed over. Size and hash are those of the stored bytes, which is what
// OBJECT_READ delivers: of a packed object, those of the packed form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "load/sha256.h"
#include "seaweed/file_id.h"

namespace rde::tools {

struct LoadObject {
  FileId id;
  std::uint64_t size = 0;
  Sha256::Digest sha256{};
};

// Errors (invalid_request) name the line and what is wrong with it; an empty list is refused.
Result<std::vector<LoadObject>> parse_objects(std::string_view text);
// The same from a file. Errors (system_error) name the path.
Result<std::vector<LoadObject>> read_objects(const std::string& path);

std::string hex_of(const Sha256::Digest& digest);

}  // namespace rde::tools
