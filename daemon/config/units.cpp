#include "config/units.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace rde {
namespace {

constexpr int kMostCores = 1024;

bool read_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  const Error bad{Status::invalid_request,
                  "'" + std::string(text) + "' is not a size; want a number of bytes or one like 64MiB"};
  std::uint64_t number = 0;
  if (!read_number(text, number)) return bad;
  while (text.starts_with(' ')) text.remove_prefix(1);
  unsigned shift = 0;
  if (!text.empty() && text != "B") {
    const auto unit = std::string_view("KMGT").find(static_cast<char>(text.front() & ~0x20));
    text.remove_prefix(1);
    if (unit == std::string_view::npos || (!text.empty() && text != "iB" && text != "B")) return bad;
    shift = static_cast<unsigned>(unit + 1) * 10;
  }
  if (number > (~std::uint64_t{0} >> shift)) return bad;
  return number << shift;
}

Result<std::vector<int>> parse_cores(std::string_view text) {
  const Error bad{Status::invalid_request,
                  "'" + std::string(text) + "' is not a list of processors; want one like 2,4-6"};
  std::vector<int> cores;
  while (true) {
    std::uint64_t first = 0;
    if (!read_number(text, first) || first >= kMostCores) return bad;
    std::uint64_t last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!read_number(text, last) || last < first || last >= kMostCores) return bad;
    }
    for (auto core = static_cast<int>(first); core <= static_cast<int>(last); ++core) {
      if (std::ranges::find(cores, core) != cores.end()) return bad;
      cores.push_back(core);
    }
    if (text.empty()) return cores;
    if (!text.starts_with(',')) return bad;
    text.remove_prefix(1);
  }
}

}  // namespace rde
