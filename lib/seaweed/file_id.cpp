#include "seaweed/file_id.h"

#include <charconv>
#include <cstdio>

namespace rde {
namespace {

constexpr std::size_t kCookieDigits = 8;
constexpr std::size_t kMaxDigits = 24;
constexpr std::size_t kQuotedBytes = 64;  // of a refused text

Error refuse(std::string_view text, std::string_view why) {
  const bool cut = text.size() > kQuotedBytes;
  return {Status::invalid_file_id, "file id '" + std::string(text.substr(0, kQuotedBytes)) + (cut ? "…" : "") +
                                       "': " + std::string(why) + "; write VOLUME,KEYCOOKIE like 3,01637037d6"};
}

// All of `digits` as a number; from_chars alone would take a prefix, and a minus sign for signed types.
template <class T>
bool read_number(std::string_view digits, int base, T& value) {
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, base);
  return !digits.empty() && read.ec == std::errc{} && read.ptr == end;
}

}  // namespace

Result<FileId> parse_file_id(std::string_view text) {
  const auto comma = text.find(',');
  if (comma == std::string_view::npos) return refuse(text, "there is no comma");
  FileId id;
  if (!read_number(text.substr(0, comma), 10, id.volume)) {
    return refuse(text, "the volume is not a decimal number up to 4294967295");
  }
  auto digits = text.substr(comma + 1);
  std::uint64_t added = 0;
  if (const auto underscore = digits.find('_'); underscore != std::string_view::npos) {
    if (!read_number(digits.substr(underscore + 1), 10, added)) {
      return refuse(text, "what follows '_' is not a decimal number");
    }
    digits = digits.substr(0, underscore);
  }
  if (digits.size() <= kCookieDigits || digits.size() > kMaxDigits) {
    return refuse(text, "key and cookie have " + std::to_string(digits.size()) + " digits instead of 9 to 24");
  }
  const auto key = digits.substr(0, digits.size() - kCookieDigits);
  const auto cookie = digits.substr(digits.size() - kCookieDigits);
  if (!read_number(key, 16, id.key) || !read_number(cookie, 16, id.cookie)) {
    return refuse(text, "key and cookie are not all hex digits");
  }
  if (added > ~id.key) return refuse(text, "the key with '_N' added does not fit 64 bits");
  id.key += added;
  return id;
}

std::string format_file_id(const FileId& id) {
  char digits[32];
  const int length = std::snprintf(digits, sizeof digits, "%016llx%08x", static_cast<unsigned long long>(id.key),
                                   static_cast<unsigned>(id.cookie));
  std::string_view text(digits, static_cast<std::size_t>(length));
  while (text.size() > kCookieDigits + 2 && text.starts_with("00")) text.remove_prefix(2);
  return std::to_string(id.volume) + "," + std::string(text);
}

}  // namespace rde
