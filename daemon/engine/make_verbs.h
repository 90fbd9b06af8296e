// The transport over RDMA verbs, where a device of this host works.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "config/config.h"
#include "transport/transport.h"

namespace rde {

// A port has moved bytes to itself, and the addresses of the configuration pass an RDMA device; else says why not
// (device_not_found, invalid_address, context_init_failed). `with` is told which port and GID.
Result<std::unique_ptr<Transport>> make_verbs(const Config& config, std::string& with);

}  // namespace rde
