// From --transport, --device and --trusted-network to a transport.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "config/config.h"
#include "transport/transport.h"

namespace rde {

// Errors: not_supported (this build or machine cannot), invalid_request (UCX over TCP beyond loopback without
// --trusted-network). Null where `auto` finds nothing that is built in and nothing needs one.
Result<std::unique_ptr<Transport>> make_transport(const Config& config);

// Of the library behind it, to be compared by peers.
std::string transport_version();

}  // namespace rde
