// What `rdma-engine doctor` found out about one thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rde {

enum class Severity : std::uint8_t {
  good,     // as it should be
  note,     // worth knowing; nothing is wrong with it
  warning,  // works, but slower or less safely than it could
  error,    // with this configuration the engine does not start, or does not do what it was asked
};

struct Finding {
  std::string check;  // its name, which stays: "memlock"
  Severity severity = Severity::good;
  std::string text;  // what is so, with the values seen
  std::string mend;  // the command or the setting that mends it; empty where nothing has to be
};

using Findings = std::vector<Finding>;

}  // namespace rde
