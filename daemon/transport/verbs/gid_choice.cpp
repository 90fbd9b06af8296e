#include "transport/verbs/gid_choice.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace rde {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

using Gid = std::array<std::uint8_t, 16>;

bool is_zero(const Gid& gid) {
  return std::ranges::all_of(gid, [](std::uint8_t byte) { return byte == 0; });
}

// The prefix alone, as the subnet manager or the driver leaves it before an address is there.
bool has_no_host(const Gid& gid) {
  return std::ranges::all_of(std::span(gid).subspan(8), [](std::uint8_t byte) { return byte == 0; });
}

bool is_ipv4(const Gid& gid) { return std::ranges::equal(std::span(gid).first(kMapped.size()), kMapped); }
bool is_link_local(const Gid& gid) { return gid[0] == 0xFE && (gid[1] & 0xC0U) == 0x80; }

// 0: of no use.
unsigned rank(const GidEntry& entry) {
  if (entry.kind == GidKind::unreadable || is_zero(entry.gid) || has_no_host(entry.gid)) return 0;
  if (entry.kind == GidKind::infiniband) return 1;  // the table's first is the port's own
  const unsigned reach = is_ipv4(entry.gid) ? 3 : is_link_local(entry.gid) ? 1 : 2;
  return entry.kind == GidKind::roce_v2 ? 3 + reach : reach;
}

Gid gid_of(const SocketAddress& where) {
  Gid gid{};
  if (where.storage.ss_family == AF_INET6) {
    std::memcpy(gid.data(), &reinterpret_cast<const sockaddr_in6&>(where.storage).sin6_addr, gid.size());
  } else {
    std::ranges::copy(kMapped, gid.begin());
    std::memcpy(gid.data() + kMapped.size(), &reinterpret_cast<const sockaddr_in&>(where.storage).sin_addr, 4);
  }
  return gid;
}

std::string list_of(std::span<const GidEntry> table) {
  std::string text;
  for (const GidEntry& entry : table) {
    text += (text.empty() ? "" : ", ") + std::to_string(entry.index) + " " + std::string(name_of(entry.kind));
    if (entry.kind != GidKind::unreadable) text += " " + text_of_gid(entry.gid);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::string text_of_gid(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

std::string_view name_of(GidKind kind) {
  switch (kind) {
    case GidKind::infiniband:
      return "infiniband";
    case GidKind::roce_v1:
      return "roce_v1";
    case GidKind::roce_v2:
      return "roce_v2";
    case GidKind::unreadable:
      break;
  }
  return "unreadable";
}

std::optional<SocketAddress> address_of_gid(const Gid& gid) {
  if (is_zero(gid) || has_no_host(gid) || is_link_local(gid)) return std::nullopt;
  SocketAddress where;
  if (is_ipv4(gid)) {
    auto& in = reinterpret_cast<sockaddr_in&>(where.storage);
    in.sin_family = AF_INET;
    std::memcpy(&in.sin_addr, gid.data() + kMapped.size(), sizeof(in.sin_addr));
    where.length = sizeof(in);
  } else {
    auto& in6 = reinterpret_cast<sockaddr_in6&>(where.storage);
    in6.sin6_family = AF_INET6;
    std::memcpy(&in6.sin6_addr, gid.data(), gid.size());
    where.length = sizeof(in6);
  }
  return where;
}

Result<GidEntry> choose_gid(std::span<const GidEntry> table, const std::optional<SocketAddress>& wanted) {
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : table) {
    if (rank(entry) == 0 || (wanted && entry.gid != gid_of(*wanted))) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best != nullptr) return *best;
  std::string what = wanted ? "no GID is made of " + text_of_gid(gid_of(*wanted)) : "no GID is usable";
  return Error{Status::device_not_found,
               what + " (the port has " + list_of(table) + "); give the interface of the device an address"};
}

Result<std::uint8_t> choose_mtu(std::uint8_t ours, std::uint8_t theirs) {
  for (const std::uint8_t mtu : {ours, theirs}) {
    if (mtu >= 1 && mtu <= 5) continue;
    return Error{Status::protocol_error, "path MTU code " + std::to_string(mtu) + " is not 1 to 5 (256 to 4096 bytes)"};
  }
  return std::min(ours, theirs);
}

}  // namespace rde
