// The key that engines prove to each other, from its file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"

namespace rde {

// The bytes of the file without white space at the end. Errors (invalid_request) name the file: missing, readable for
// others, shorter than 16 bytes or longer than 1024.
Result<std::vector<std::byte>> read_psk(const std::string& path);

}  // namespace rde
