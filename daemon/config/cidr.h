// A range of addresses, as in 10.1.0.0/16 or fd00::/8.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_port.h"
#include "base/status.h"

namespace rde {

struct Cidr {
  std::array<std::uint8_t, 16> address{};  // IPv4 in its IPv6-mapped form
  unsigned bits = 0;                       // of the mapped form
  std::string text;

  [[nodiscard]] bool contains(const SocketAddress& where) const;
};

// "10.0.0.0/8", "192.0.2.7", "::1". Errors (invalid_address) quote the text.
Result<Cidr> parse_cidr(std::string_view text);

// Without a list, loopback alone is allowed.
bool is_allowed(const std::vector<Cidr>& list, const SocketAddress& where);

}  // namespace rde
