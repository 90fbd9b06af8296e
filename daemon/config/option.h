// One table of options serves the command line and the TOML file.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "config/config.h"

namespace rde {

struct Option {
  std::string flags;  // as CLI11 takes them: "-d,--device"
  std::string key;    // in the file, and in errors
  std::string value;  // "PATH"; empty for a switch
  std::string help;
  bool repeatable = false;
  // Takes one value ("true" for a switch); answers what is wrong with it, or nothing.
  std::function<std::string(Config&, const std::string&)> set;
};

std::span<const Option> options();

}  // namespace rde
