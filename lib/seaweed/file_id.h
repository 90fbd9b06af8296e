// SeaweedFS file ids: "VID,KEYCOOKIE".
//
//   auto id = rde::parse_file_id("3,01637037d6");   // volume 3, key 1, cookie 0x637037d6
//   std::string text = rde::format_file_id(*id);    // "3,01637037d6"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rde {

struct FileId {
  std::uint32_t volume = 0;
  std::uint64_t key = 0;
  std::uint32_t cookie = 0;

  bool operator==(const FileId&) const = default;
};

// VID is decimal, at most 2^32 - 1. KEYCOOKIE has 9 to 24 hex digits, the last 8 are the cookie. A
// suffix "_N" (decimal) adds N to the key. Errors (invalid_file_id) name the text and what is wrong
// with it. Any thread.
Result<FileId> parse_file_id(std::string_view text);

// The shortest form that SeaweedFS writes: whole bytes, no leading zero byte, at least one byte of key.
std::string format_file_id(const FileId& id);

}  // namespace rde
