#include "bench/engine_process.h"

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>

namespace rde::tools {
namespace {

constexpr Nanoseconds kStart = 20 * kSecond;

}  // namespace

std::string end_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > 1'000 ? text.substr(text.size() - 1'000) : text;
}

std::string value_in(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto value = line.substr(at + key.size());
  return std::string(value.substr(0, value.find_first_of(" \n")));
}

Result<std::unique_ptr<EngineProcess>> EngineProcess::start(const EngineSpec& spec, const std::string& program,
                                                            const std::string& folder) {
  const std::string socket = folder + "/" + spec.name + ".sock", log = folder + "/" + spec.name + ".log";
  std::vector<std::string> words{program, "--socket", socket, "--log-level", "warn"};
  words.insert(words.end(), spec.arguments.begin(), spec.arguments.end());
  auto child = Child::start(std::move(words), log);
  if (!child) return child.error();
  const auto ready = (*child)->wait_for_line("ready ", kStart);
  if (!ready) {
    return Error{Status::operation_failed,
                 program + ": " + ready.error().text + "; its log ends in:\n" + end_of_file(log)};
  }
  return std::unique_ptr<EngineProcess>(
      new EngineProcess(std::move(*child), socket, value_in(*ready, "listen="), spec.spins));
}

Result<Nanoseconds> EngineProcess::processor_time() const {
  clockid_t clock = 0;
  if (const int code = clock_getcpuclockid(child_->pid(), &clock); code != 0) {
    return system_error("processor time of the engine", code);
  }
  timespec used{};
  if (clock_gettime(clock, &used) != 0) return system_error("processor time of the engine", errno);
  return static_cast<Nanoseconds>(used.tv_sec) * kSecond + static_cast<Nanoseconds>(used.tv_nsec);
}

void EngineProcess::pause() {
  if (!pause_) pause_.emplace(*child_);
}

}  // namespace rde::tools
