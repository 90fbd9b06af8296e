// The RDMA devices of this host, as far as they matter here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "transport/verbs/gid_choice.h"
#include "transport/verbs/verbs_handles.h"

namespace rde {

struct VerbsPort {
  std::string device;
  std::uint8_t port = 0;
  std::uint8_t active_mtu = 0;  // enum ibv_mtu
  bool is_active = false;
  bool is_ethernet = false;
  std::uint16_t lid = 0;
  std::vector<GidEntry> gids;

  [[nodiscard]] std::string text() const;  // "rxe0 port 1"
};

// Opens a device by name. device_not_found lists those there are.
Result<OwnedContext> open_verbs_device(const std::string& device);
// Empty where the host has none, or its kernel no verbs at all.
std::vector<std::string> verbs_devices();
// All ports of an open device, with every GID that is set.
std::vector<VerbsPort> ports_of(ibv_context* context);
GidEntry read_gid(ibv_context* context, std::uint8_t port, std::uint32_t index);

// Every IP address that a GID of the host's devices (or of the one named) is made of.
std::vector<SocketAddress> verbs_addresses(const std::string& device);

// "192.0.2.1, [2001:db8::5]", or "none".
std::string hosts_of(const std::vector<SocketAddress>& addresses);

// Whether traffic to `where`, or from it where it is an address of this host, passes an RDMA device (the one named, or
// any for ""). A wildcard does. invalid_address names the address, its way, and what the devices have. Does not block.
Result<void> passes_device(const SocketAddress& where, const std::string& device);

Error verbs_error(Status status, std::string_view what, int error_number);

}  // namespace rde
