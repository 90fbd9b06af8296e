#include "transport/verbs/verbs_device.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace rde {
namespace {

struct FreeDevices {
  void operator()(ibv_device** list) const { ibv_free_device_list(list); }
};
using DeviceList = std::unique_ptr<ibv_device*, FreeDevices>;

std::string host_of(const SocketAddress& where) {
  const std::string text = where.text();
  return text.substr(0, text.rfind(':'));
}

void set_port(SocketAddress& where, std::uint16_t port) {
  if (where.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(where.storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(where.storage).sin_port = htons(port);
  }
}

DeviceList list_devices(int& count) {
  count = 0;
  return DeviceList(ibv_get_device_list(&count));
}

}  // namespace

Error verbs_error(Status status, std::string_view what, int error_number) {
  return {status, std::string(what) + ": " + std::strerror(error_number)};
}

std::string VerbsPort::text() const { return device + " port " + std::to_string(port); }

std::vector<std::string> verbs_devices() {
  int count = 0;
  const auto list = list_devices(count);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(ibv_get_device_name(list.get()[i]));
  return names;
}

Result<OwnedContext> open_verbs_device(const std::string& device) {
  int count = 0;
  const auto list = list_devices(count);
  std::string names;
  for (int i = 0; i < count; ++i) {
    ibv_device* const entry = list.get()[i];
    names += (names.empty() ? "" : ", ") + std::string(ibv_get_device_name(entry));
    if (device != ibv_get_device_name(entry)) continue;
    OwnedContext context(ibv_open_device(entry));
    if (context) return context;
    return verbs_error(Status::context_init_failed, "open RDMA device '" + device + "'", errno);
  }
  return Error{Status::device_not_found, "--device '" + device + "' is no RDMA device of this host (it has " +
                                             (names.empty() ? "none" : names) + "; rdma link lists them)"};
}

GidEntry read_gid(ibv_context* context, std::uint8_t port, std::uint32_t index) {
  GidEntry entry{.index = index};
  ibv_gid_entry read{};
  if (ibv_query_gid_ex(context, port, index, &read, 0) != 0) return entry;
  switch (read.gid_type) {
    case IBV_GID_TYPE_IB:
      entry.kind = GidKind::infiniband;
      break;
    case IBV_GID_TYPE_ROCE_V1:
      entry.kind = GidKind::roce_v1;
      break;
    default:
      entry.kind = GidKind::roce_v2;
  }
  std::copy(std::begin(read.gid.raw), std::end(read.gid.raw), entry.gid.begin());
  return entry;
}

std::vector<VerbsPort> ports_of(ibv_context* context) {
  ibv_device_attr attributes{};
  std::vector<VerbsPort> ports;
  if (ibv_query_device(context, &attributes) != 0) return ports;
  for (std::uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
    ibv_port_attr read{};
    if (ibv_query_port(context, number, &read) != 0) continue;
    VerbsPort port{.device = ibv_get_device_name(context->device),
                   .port = number,
                   .active_mtu = static_cast<std::uint8_t>(read.active_mtu),
                   .is_active = read.state == IBV_PORT_ACTIVE,
                   .is_ethernet = read.link_layer == IBV_LINK_LAYER_ETHERNET,
                   .lid = read.lid};
    for (std::uint32_t index = 0; index < static_cast<std::uint32_t>(std::max(read.gid_tbl_len, 0)); ++index) {
      errno = 0;
      const GidEntry entry = read_gid(context, number, index);
      // An empty slot is "no data"; what else cannot be read is worth naming.
      if (entry.kind != GidKind::unreadable || errno != ENODATA) port.gids.push_back(entry);
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

std::vector<SocketAddress> verbs_addresses(const std::string& device) {
  std::vector<SocketAddress> found;
  for (const auto& name : verbs_devices()) {
    if (!device.empty() && name != device) continue;
    const auto context = open_verbs_device(name);
    if (!context) continue;
    for (const VerbsPort& port : ports_of(context->get())) {
      for (const GidEntry& entry : port.gids) {
        if (const auto where = address_of_gid(entry.gid); where && port.is_active) found.push_back(*where);
      }
    }
  }
  return found;
}

std::string hosts_of(const std::vector<SocketAddress>& addresses) {
  std::string text;
  for (const auto& where : addresses) text += (text.empty() ? "" : ", ") + host_of(where);
  return text.empty() ? "none" : text;
}

Result<void> passes_device(const SocketAddress& where, const std::string& device) {
  const std::string host = host_of(where);
  if (host == "0.0.0.0" || host == "[::]") return {};
  // The kernel says which address it would use; nothing is sent. Any port will do, but 0 does not.
  SocketAddress to = where;
  set_port(to, 9);
  SocketAddress local;
  local.length = sizeof(local.storage);
  const Descriptor socket(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local.storage), &local.length) != 0) {
    return Error{Status::invalid_address, "no route to " + host + ": " + std::strerror(errno)};
  }
  const auto addresses = verbs_addresses(device);
  const auto is_there =
      std::ranges::any_of(addresses, [&](const SocketAddress& known) { return host_of(known) == host_of(local); });
  if (is_there) return {};
  return Error{Status::invalid_address,
               host + " is reached from " + host_of(local) +
                   ", which is no address of an RDMA device (those are: " + hosts_of(addresses) + ")"};
}

}  // namespace rde
