// Which operations a load is made of: "nop=70,read=30".
//
//   auto mix = parse_mix("nop=70,read=30");
//   Op op = mix->pick(random_number);
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rde::tools {

enum class Op : std::uint8_t { nop, ping, stat, read };
inline constexpr std::size_t kOps = 4;
inline constexpr std::array<std::string_view, kOps> kOpNames{"nop", "ping", "stat", "read"};

inline std::size_t index_of(Op op) { return static_cast<std::size_t>(op); }

struct Mix {
  std::array<std::uint32_t, kOps> weights{};

  [[nodiscard]] std::uint32_t weight(Op op) const { return weights[index_of(op)]; }
  [[nodiscard]] bool needs_objects() const { return weight(Op::stat) + weight(Op::read) > 0; }
  // Every operation as often as its weight says, where `random` is spread evenly.
  [[nodiscard]] Op pick(std::uint64_t random) const;
};

// NAME=WEIGHT or NAME (weight 1), with commas between; weights are 0 to 1000000. Errors (invalid_request) quote the
// part that is wrong. A mix in which every weight is 0 is refused.
Result<Mix> parse_mix(std::string_view text);

}  // namespace rde::tools
