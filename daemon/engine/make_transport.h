// From --transport, --device and --trusted-network to a transport.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "config/config.h"
#include "transport/transport.h"

namespace rde {

// `auto` takes verbs where that works, else UCX over TCP, and logs which and why.
// Errors: not_supported (this build or machine cannot), invalid_request (UCX over TCP beyond loopback without
// --trusted-network), device_not_found. Null where `auto` finds nothing that is built in and nothing needs one.
Result<std::unique_ptr<Transport>> make_transport(const Config& config);

// Of what is behind the transport of this name, to be shown to peers.
std::string transport_version(std::string_view transport);

}  // namespace rde
