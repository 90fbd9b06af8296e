#include "config/config.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "config/option.h"
#include "version.h"

namespace rde {
namespace {

Error invalid(const std::string& name, const std::string& value, const std::string& why) {
  return {Status::invalid_request, name + " = '" + value + "': " + why};
}

Result<void> apply(Config& config, const Option& option, const std::string& shown,
                   const std::vector<std::string>& values) {
  if (values.empty()) return {};
  if (option.clear) {
    option.clear(config);
  } else if (values.size() > 1) {
    return invalid(shown, values.back(), "given more than once; want one value");
  }
  for (const auto& value : values) {
    if (auto bad = option.set(config, value); !bad.empty()) return invalid(shown, value, bad);
  }
  return {};
}

// Keys of the older configuration file, by table.
const std::map<std::string, std::map<std::string, std::string>>& older_tables() {
  static const std::map<std::string, std::map<std::string, std::string>> tables{
      {"rdma", {{"device_name", "device"}, {"port", "port"}, {"buffer_size", "buffer_size"}}},
      {"logging", {{"level", "log_level"}}},
  };
  return tables;
}

std::optional<std::string> text_of(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  return std::nullopt;
}

Result<void> apply_node(Config& config, const std::string& shown, const std::string& key, const toml::node& node) {
  const auto table = options();
  const auto option = std::ranges::find(table, key, &Option::key);
  if (option == table.end()) {
    return Error{Status::invalid_request, shown + ": no such key (line " + std::to_string(node.source().begin.line) +
                                              "); rdma-engine --help lists the names, written here with '_' for '-'"};
  }
  std::vector<std::string> values;
  const auto add = [&](const toml::node& item) -> Result<void> {
    auto text = text_of(item);
    if (!text) {
      std::ostringstream kind;
      kind << item.type();
      return invalid(shown, kind.str(), "want a string, an integer, true or false, or a list of such");
    }
    values.push_back(std::move(*text));
    return {};
  };
  if (const auto* list = node.as_array()) {
    for (const auto& item : *list) {
      if (auto added = add(item); !added) return added;
    }
    if (values.empty() && option->clear) option->clear(config);
  } else if (auto added = add(node); !added) {
    return added;
  }
  return apply(config, *option, shown, values);
}

Result<void> apply_table(Config& config, const toml::table& file) {
  for (const auto& [name, node] : file) {
    const std::string key(name.str());
    const auto* table = node.as_table();
    if (table == nullptr) {
      if (auto applied = apply_node(config, key, key, node); !applied) return applied;
      continue;
    }
    const auto older = older_tables().find(key);
    if (older == older_tables().end())
      return Error{Status::invalid_request, "[" + key + "]: no such table; keys stand at the top"};
    for (const auto& [inner, value] : *table) {
      const auto known = older->second.find(std::string(inner.str()));
      const std::string shown = "[" + key + "] " + std::string(inner.str());
      if (auto applied = apply_node(config, shown, known == older->second.end() ? shown : known->second, value);
          !applied)
        return applied;
    }
  }
  return {};
}

Result<std::string> read_file(const std::string& path) {
  std::error_code code;
  constexpr std::size_t kLargestFile = std::size_t{1} << 20;
  constexpr const char* kWanted = "want a TOML file of at most 1 MiB that can be read";
  std::ifstream file(path);
  // A directory opens, and reads as nothing; a device may never end.
  if (std::filesystem::is_directory(path, code) || !file) return invalid("--config", path, kWanted);
  std::string text(kLargestFile + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || file.gcount() > static_cast<std::streamsize>(kLargestFile))
    return invalid("--config", path, kWanted);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<void> apply_file(Config& config, const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  try {
    if (auto applied = apply_table(config, toml::parse(*text)); !applied) return applied.error().in(path);
    return {};
  } catch (const toml::parse_error& error) {
    return Error{Status::invalid_request, path + ": line " + std::to_string(error.source().begin.line) + ": " +
                                              std::string(error.description())};
  }
}

// What only together makes sense.
Result<void> finish(Config& config) {
  if (config.listen && !config.listen_names_port) config.listen->port = config.port;
  if (config.max_segment_bytes != 0 && config.segment_size > config.max_segment_bytes) {
    return invalid("--segment-size", std::to_string(config.segment_size),
                   "more than --max-segment-bytes (" + std::to_string(config.max_segment_bytes) +
                       ") leaves for all clients together; raise that or lower this");
  }
  if (config.listen && config.exports.empty()) {
    return Error{Status::invalid_request,
                 "--listen " + config.listen->text() + ": nothing to serve; name a directory with --export"};
  }
  return {};
}

}  // namespace

Result<Config> read_config_file(const std::string& path) {
  Config config;
  config.config_file = path;
  if (auto applied = apply_file(config, path); !applied) return applied.error();
  if (auto finished = finish(config); !finished) return finished.error().in(path);
  return config;
}

Result<Config> read_again(const Config& running) {
  std::vector<const char*> argv;
  for (const auto& argument : running.arguments) argv.push_back(argument.c_str());
  auto line = read_command_line(static_cast<int>(argv.size()), argv.data());
  if (!line) return line.error();
  return line->config;
}

Result<CommandLine> read_command_line(int argc, const char* const* argv) {
  CommandLine line;
  line.config.arguments.assign(argv, argv + argc);
  CLI::App app("rdma-engine: moves object bytes between SeaweedFS volumes and memory that clients have mapped");
  app.name("rdma-engine");
  app.set_version_flag("--version", std::string("rdma-engine ") + kVersion);
  app.add_option("-c,--config", line.config.config_file, "TOML file; the same names with '_' for '-'")
      ->type_name("FILE");
  auto* doctor = app.add_subcommand("doctor", "checks this host for what the options ask, and says what mends it");
  doctor->fallthrough();
  doctor->add_flag("--json", line.json, "for programs");
  std::map<const Option*, std::vector<std::string>> given;
  std::map<const Option*, bool> switched;
  for (const auto& option : options()) {
    if (option.value.empty()) {
      app.add_flag(option.flags, switched[&option], option.help);
    } else {
      app.add_option(option.flags, given[&option], option.help)->type_name(option.value)->allow_extra_args(false);
    }
  }
  try {
    app.parse(argc, const_cast<char**>(argv));
  } catch (const CLI::CallForHelp&) {
    line.show = app.help();
    return line;
  } catch (const CLI::CallForVersion&) {
    line.show = std::string("rdma-engine ") + kVersion + "\n";
    return line;
  } catch (const CLI::ParseError& error) {
    return Error{Status::invalid_request, std::string(error.what()) + " (rdma-engine --help lists the options)"};
  }
  line.doctor = doctor->parsed();
  if (app.count("--config") != 0) {
    if (auto applied = apply_file(line.config, line.config.config_file); !applied) return applied.error();
  }
  for (const auto& option : options()) {
    const auto shown = option.flags.substr(option.flags.find("--"));
    auto values = option.value.empty() ? std::vector<std::string>(switched[&option] ? 1 : 0, "true") : given[&option];
    if (auto applied = apply(line.config, option, shown, values); !applied) return applied.error();
  }
  if (auto finished = finish(line.config); !finished) return finished.error();
  return line;
}

}  // namespace rde
