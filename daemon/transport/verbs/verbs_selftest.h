// Whether a device of this host really moves bytes: a write with immediate between two queue pairs of one port.
#pragma once

#include <string>

#include "base/status.h"
#include "transport/verbs/verbs_device.h"

namespace rde {

struct VerbsFinding {
  VerbsPort port;
  GidEntry gid;
};

// The first port, of `device` or of any ("" = any), that is active and passes. Takes some milliseconds.
// device_not_found says for each port why not.
Result<VerbsFinding> find_working_port(const std::string& device);

}  // namespace rde
