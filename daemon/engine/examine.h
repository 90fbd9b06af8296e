// `rdma-engine doctor`: what of this host and this configuration is not as it should be.
#pragma once

#include "config/config.h"
#include "doctor/finding.h"

namespace rde {

// Looks at everything, and opens the transport as the engine would. Changes nothing that stays.
Findings examine(const Config& config);

}  // namespace rde
