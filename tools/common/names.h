// Names of the numbers in a segment. A number that is not known comes out as itself: "op 77".
//
//   op_name(RDE_OP_NOP) == "NOP";  flag_names(RDE_COMPLETION_FLAG_MORE) == {"MORE"}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rde::tools {

std::string op_name(std::uint32_t op);
std::string status_name(std::uint32_t status);
std::string engine_state_name(std::uint32_t state);
std::string channel_state_name(std::uint32_t state);
std::string counter_type_name(std::uint32_t type);
std::string event_name(std::uint32_t type);
std::string priority_name(std::uint32_t priority);
std::vector<std::string> request_flag_names(std::uint32_t flags);
std::vector<std::string> completion_flag_names(std::uint32_t flags);

// "A|B", or "-" for none.
std::string joined(const std::vector<std::string>& names);
// "0x00c0ffee" of as many digits as asked for.
std::string hex(std::uint64_t value, int digits = 1);

}  // namespace rde::tools
