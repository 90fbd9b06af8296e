#include "config/cidr.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace rde {
namespace {

constexpr unsigned kMappedBits = 96;

void put_v4(std::array<std::uint8_t, 16>& to, const in_addr& from) {
  to = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  std::memcpy(&to[12], &from, sizeof from);
}

}  // namespace

Result<Cidr> parse_cidr(std::string_view text) {
  const auto bad = [&](const char* why) {
    return Error{Status::invalid_address, "'" + std::string(text) + "' is not an address range: " + why};
  };
  Cidr cidr;
  cidr.text = text;
  const auto slash = text.find('/');
  const std::string host(text.substr(0, slash));
  in_addr v4{};
  in6_addr v6{};
  unsigned most = 128;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    put_v4(cidr.address, v4);
    most = 32;
  } else if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    std::memcpy(cidr.address.data(), &v6, sizeof v6);
  } else {
    return bad("want ADDRESS or ADDRESS/BITS, as in 10.0.0.0/8");
  }
  unsigned bits = most;
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc{} || end != digits.data() + digits.size() || bits > most) return bad("BITS is out of range");
  }
  cidr.bits = most == 32 ? bits + kMappedBits : bits;
  return cidr;
}

bool Cidr::contains(const SocketAddress& where) const {
  std::array<std::uint8_t, 16> other{};
  if (where.storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &where.storage, sizeof v4);
    put_v4(other, v4.sin_addr);
  } else if (where.storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &where.storage, sizeof v6);
    std::memcpy(other.data(), &v6.sin6_addr, other.size());
  } else {
    return false;
  }
  const unsigned whole = bits / 8;
  if (std::memcmp(address.data(), other.data(), whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((address[whole] ^ other[whole]) >> (8 - rest)) == 0;
}

bool is_allowed(const std::vector<Cidr>& list, const SocketAddress& where) {
  if (list.empty()) return where.is_loopback();
  return std::ranges::any_of(list, [&](const Cidr& range) { return range.contains(where); });
}

}  // namespace rde
