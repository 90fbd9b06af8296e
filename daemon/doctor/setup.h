// The checks of what the configuration names: files, sockets, keys, addresses.
#pragma once

#include "config/config.h"
#include "doctor/finding.h"

namespace rde {

// Whether an engine could listen there; the socket file is made and removed again.
Finding check_socket(const Config& config);
// One for each --export.
Findings check_exports(const Config& config);
Finding check_psk(const Config& config);
// What --trusted-network means, where it is said.
Finding check_trust(const Config& config);
// One for each --peer and --listen: whether the name is known.
Findings check_addresses(const Config& config);

}  // namespace rde
