// Which GID and which MTU a connection takes. Pure: tables in, a choice out.
//
//   auto gid = choose_gid(table, {});          // the best of the port
//   auto mtu = choose_mtu(ours, theirs);       // enum ibv_mtu, the smaller one
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/host_port.h"
#include "base/status.h"

namespace rde {

// What a slot of the table holds. unreadable: the kernel refused it, as it does to some containers.
enum class GidKind : std::uint8_t { unreadable, infiniband, roce_v1, roce_v2 };

struct GidEntry {
  std::uint32_t index = 0;
  GidKind kind = GidKind::unreadable;
  std::array<std::uint8_t, 16> gid{};
};

// "::ffff:192.0.2.1" and the like.
std::string text_of_gid(const std::array<std::uint8_t, 16>& gid);
std::string_view name_of(GidKind kind);
// The address that the GID was made of, port 0; nothing for one that is made of no IP address.
std::optional<SocketAddress> address_of_gid(const std::array<std::uint8_t, 16>& gid);

// With `wanted`, the GID of that address; else RoCE v2 before v1, IPv4 before routable IPv6 before link-local, and the
// first of equals. device_not_found lists what the table has.
Result<GidEntry> choose_gid(std::span<const GidEntry> table, const std::optional<SocketAddress>& wanted);

// enum ibv_mtu of both sides, 1 (256 bytes) to 5 (4096); protocol_error for another number.
Result<std::uint8_t> choose_mtu(std::uint8_t ours, std::uint8_t theirs);
constexpr unsigned bytes_of_mtu(std::uint8_t mtu) { return 128U << mtu; }

}  // namespace rde
