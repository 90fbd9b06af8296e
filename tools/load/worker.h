// The same load from several processes: each is this program once more, and tells its result as lines of JSON.
//
//   In the parent:  Fleet fleet;  fleet.start(arguments, 4);  auto result = fleet.run(stop, progress);
//   In a worker:    run_worker(options, stop);
//
// Processes are made by fork and exec before anything is attached, and ended by their ids alone.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "load/session.h"

namespace rde::tools {

// Runs one session, prints its lines on stdout; answers the exit code of the process.
int run_worker(const LoadOptions& options, const StopSign& stop);

class Fleet {
 public:
  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  // Ends and reaps what still runs.
  ~Fleet();

  // `arguments` are those of this program; a worker gets them and --worker. Errors: system_error.
  Result<void> start(const std::vector<std::string>& arguments, std::uint32_t processes);
  // Until all have ended. Errors: the first reason why a worker could not start.
  Result<SessionResult> run(const StopSign& stop, const std::function<void(const ProgressCount&)>& progress);

 private:
  struct Worker {
    pid_t pid = -1;
    Descriptor output;
    std::string line;
    ProgressCount count;
    bool finished = false;  // its result has come
  };

  void read_from(Worker& worker);
  void take_line(Worker& worker, std::string_view line);
  void signal_all(int signal);
  [[nodiscard]] ProgressCount count() const;

  std::vector<Worker> workers_;
  SessionResult result_;
  std::vector<Error> refused_;
};

}  // namespace rde::tools
