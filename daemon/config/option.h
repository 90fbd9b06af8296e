// One table of options serves the command line and the TOML file.
//
//   for (const Option& option : options()) {
//     if (option.key == "poll") return option.set(config, "spin");     // "" where that was right
//   }
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
  // Takes one value ("true" for a switch); answers what is wrong with it, or nothing.
  std::function<std::string(Config&, const std::string&)> set;
  // Forgets the values of an option that may be given more than once; empty for one that may not.
  std::function<void(Config&)> clear = nullptr;
};

std::span<const Option> options();

}  // namespace rde
