#include "compat/session_id.h"

#include <charconv>
#include <cstdio>

namespace rde::compat {

std::string session_id(std::uint64_t epoch, Handle session) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%04x%08x", static_cast<unsigned>(epoch >> 32),
                static_cast<unsigned>(epoch >> 16 & 0xFFFF), static_cast<unsigned>(epoch & 0xFFFF),
                session.generation >> 16, session.generation & 0xFFFF, session.index);
  return text;
}

Handle parse_session_id(std::uint64_t epoch, std::string_view text) {
  constexpr std::size_t kHandle = 19;  // where its digits start, after those of the epoch
  if (text.size() != 36 || text[23] != '-') return {};
  const auto number = [&](std::size_t from, std::size_t digits) {
    std::uint32_t value = 0;
    const auto part = text.substr(from, digits);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    return error == std::errc{} && end == part.data() + part.size() ? value : 0;
  };
  const Handle session{number(28, 8), number(kHandle, 4) << 16 | number(24, 4)};
  return text == session_id(epoch, session) ? session : Handle{};
}

}  // namespace rde::compat
