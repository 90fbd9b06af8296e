#include "bench/bench.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace rde::tools {
namespace {

constexpr Nanoseconds kStart = 20 * kSecond;

std::string end_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  return text.size() > 1'000 ? text.substr(text.size() - 1'000) : text;
}

}  // namespace

Bench::~Bench() {
  engine_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<std::string> Bench::folder() {
  if (folder_.empty()) {
    std::error_code failed;
    const auto parent = std::filesystem::temp_directory_path(failed);
    auto pattern = (failed ? "/tmp" : parent.string()) + "/ring-bench-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) return system_error("make a folder " + pattern, errno);
    folder_ = pattern;
  }
  return folder_;
}

Result<std::string> Bench::engine_socket() {
  if (engine_) return socket_;
  if (options_.engine.empty()) {
    return Error{Status::system_error, "rdma-engine is not beside this program; name it with --engine"};
  }
  const auto folder = this->folder();
  if (!folder) return folder.error();
  const std::string socket = *folder + "/attach.sock", log = *folder + "/engine.log";
  auto engine = Child::start({options_.engine, "--socket", socket, "--poll", "spin", "--cores",
                              std::to_string(placement_.engine), "--log-level", "warn"},
                             log);
  if (!engine) return engine.error();
  if (auto ready = (*engine)->wait_for_line("ready ", kStart); !ready) {
    return Error{Status::operation_failed,
                 options_.engine + ": " + ready.error().text + "; its log ends in:\n" + end_of_file(log)};
  }
  engine_ = std::move(*engine);
  socket_ = socket;
  return socket_;
}

std::vector<double> Bench::pingpong(Nanoseconds length) {
  if (!engine_) return raw_pingpong(placement_, length);
  const Child::Pause pause(*engine_);
  return raw_pingpong(placement_, length);
}

}  // namespace rde::tools
