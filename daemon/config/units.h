// Values as operators write them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rde {

// "64MiB", "2 GB", "4096": bytes; K, M, G, T are powers of 1024 with or without "iB" or "B".
Result<std::uint64_t> parse_size(std::string_view text);

// "2,4-6": each once, in this order.
Result<std::vector<int>> parse_cores(std::string_view text);

}  // namespace rde
