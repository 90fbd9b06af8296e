// HOST:PORT as people write it: a name, an IPv4 address, or an IPv6 address in brackets.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace rde {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;
  bool operator==(const HostPort&) const = default;
};

// A numeric address, ready for connect or bind.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  [[nodiscard]] std::string text() const;  // numeric HOST:PORT
  [[nodiscard]] bool is_loopback() const;
};

// "127.0.0.1:18515", "[::1]:0", "storage-7:18515". Errors (invalid_address) name the text and what is wrong with it.
Result<HostPort> parse_host_port(std::string_view text);

// First address of the host. Blocks on the resolver for a name: never on a polling core; a numeric host does not block.
Result<SocketAddress> resolve(const HostPort& where);

}  // namespace rde
