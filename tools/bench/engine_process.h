// An engine that is started for measures: its socket, its processor time, and its standing still.
//
//   auto engine = EngineProcess::start({.name = "spin", .arguments = {"--poll", "spin"}}, program, folder);
//   if (engine) Client::attach({.socket = (*engine)->socket()});
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/child.h"

namespace rde::tools {

struct EngineSpec {
  std::string name;                    // of its socket and log
  std::vector<std::string> arguments;  // beside --socket and --log-level
  bool spins = false;                  // takes a whole processor: stands still while others are measured
};

class EngineProcess {
 public:
  // Waits until it serves. Errors: operation_failed with the end of its log.
  static Result<std::unique_ptr<EngineProcess>> start(const EngineSpec& spec, const std::string& program,
                                                      const std::string& folder);

  [[nodiscard]] const std::string& socket() const { return socket_; }
  // HOST:PORT for other engines; "-" without --listen.
  [[nodiscard]] const std::string& listen() const { return listen_; }
  [[nodiscard]] bool spins() const { return spins_; }
  [[nodiscard]] pid_t pid() const { return child_->pid(); }
  // Processor time that it has used so far, of all its threads. Errors: system_error.
  [[nodiscard]] Result<Nanoseconds> processor_time() const;

  void pause();
  void resume() { pause_.reset(); }
  [[nodiscard]] bool is_paused() const { return pause_.has_value(); }

 private:
  EngineProcess(std::unique_ptr<Child> child, std::string socket, std::string listen, bool spins)
      : child_(std::move(child)), socket_(std::move(socket)), listen_(std::move(listen)), spins_(spins) {}

  std::unique_ptr<Child> child_;
  std::optional<Child::Pause> pause_;  // before the child ends
  std::string socket_;
  std::string listen_;
  bool spins_;
};

// What follows `key` in a ready line, up to the next space: value_in("ready http=a:1", "http=") is "a:1".
std::string value_in(std::string_view line, std::string_view key);
// The last bytes of a log, for an error.
std::string end_of_file(const std::string& path);

}  // namespace rde::tools
