#include "load/mix.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace rde::tools {
namespace {

constexpr std::uint32_t kLargestWeight = 1'000'000;

Error bad(std::string_view part, std::string_view why) {
  return {Status::invalid_request, "--mix '" + std::string(part) + "': " + std::string(why)};
}

}  // namespace

Op Mix::pick(std::uint64_t random) const {
  const std::uint64_t total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  std::uint64_t left = random % total;
  for (std::size_t i = 0; i < kOps; ++i) {
    if (left < weights[i]) return static_cast<Op>(i);
    left -= weights[i];
  }
  return Op::nop;
}

Result<Mix> parse_mix(std::string_view text) {
  Mix mix;
  std::array<bool, kOps> seen{};
  for (std::size_t start = 0; start <= text.size();) {
    const auto comma = std::min(text.find(',', start), text.size());
    const auto part = text.substr(start, comma - start);
    start = comma + 1;
    const auto equals = std::min(part.find('='), part.size());
    const auto* name = std::ranges::find(kOpNames, part.substr(0, equals));
    if (name == kOpNames.end()) return bad(part, "want nop, ping, stat or read, as in nop=70,read=30");
    std::uint32_t weight = 1;
    if (equals < part.size()) {
      const auto digits = part.substr(equals + 1);
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
      if (code != std::errc() || end != digits.data() + digits.size() || weight > kLargestWeight) {
        return bad(part, "want a weight from 0 to 1000000");
      }
    }
    const auto index = static_cast<std::size_t>(name - kOpNames.begin());
    if (seen[index]) return bad(part, "is named twice");
    seen[index] = true;
    mix.weights[index] = weight;
  }
  if (std::ranges::all_of(mix.weights, [](std::uint32_t weight) { return weight == 0; })) {
    return bad(text, "every weight is 0; want at least one operation");
  }
  return mix;
}

}  // namespace rde::tools
