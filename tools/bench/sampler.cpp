#include "bench/sampler.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

namespace rde::tools {
namespace {

constexpr Nanoseconds kStartAndStop = 30 * kSecond;

}  // namespace

std::string find_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = folder + "/" + program;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

Error not_installed(const std::string& program, const std::string& package) {
  return {Status::not_supported,
          "no reference: " + program + " is not installed (Debian: apt-get install " + package + ")"};
}

Error not_built(const std::string& program) {
  return {Status::not_supported, program + " is not built; ./run build makes it"};
}

Result<std::string> run_program(Bench& bench, std::vector<std::string> words, Nanoseconds length) {
  const auto folder = bench.folder();
  if (!folder) return folder.error();
  const std::string name = words.front(), log = *folder + "/program.log";
  auto child = Child::start(std::move(words), log);
  if (!child) return child.error();
  auto ended = (*child)->wait_for_end(length + kStartAndStop);
  if (!ended) return ended.error().in(name);
  if (ended->code != 0) {
    return Error{Status::operation_failed, name + " exited with " + std::to_string(ended->code) +
                                               "; its log ends in:\n" + end_of_file(log) +
                                               ended->output.substr(0, 1'000)};
  }
  return std::move(ended->output);
}

Result<Samples> run_sampler(Bench& bench, std::vector<std::string> words, Nanoseconds length) {
  const std::string name = words.front();
  const auto output = run_program(bench, std::move(words), length);
  if (!output) return output.error();
  const auto json = nlohmann::json::parse(*output, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Error{Status::operation_failed, name + " did not print a JSON object"};
  Samples samples;
  for (const auto& [key, values] : json.items()) {
    if (!values.is_array()) continue;
    for (const auto& value : values) {
      if (value.is_number()) samples[key].push_back(value.get<double>());
    }
  }
  return samples;
}

}  // namespace rde::tools
