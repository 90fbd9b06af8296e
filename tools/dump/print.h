// A snapshot for people, and for programs.
//
//   print_text(std::cout, snapshot);
//   std::cout << to_json(snapshot).dump(2);
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "dump/snapshot.h"

namespace rde::tools {

void print_text(std::ostream& out, const Snapshot& snapshot);

// Numbers that may pass 2^53 (tags, handles, epoch, hash) are texts in hexadecimal.
nlohmann::ordered_json to_json(const Snapshot& snapshot);

// What a request asks for, in words: "3,01637037d6 offset 4096", "cancels 0x…". Empty where there is nothing to say.
std::string describe_args(const rde_request& request);
// A client or peer process: "4711 (gone)" where it is known to be so.
std::string describe_pid(std::uint32_t pid, bool live);

}  // namespace rde::tools
