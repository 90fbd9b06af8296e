// A program that is started for a measure, and ended by its id.
//
//   auto engine = Child::start({"rdma-engine", "--socket", path}, log_path);
//   auto line = (*engine)->wait_for_line("ready ", 10 * kSecond);
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/status.h"

namespace rde::tools {

class Child {
 public:
  // `words` are the program's path and its arguments; its stderr goes to the file `log`. Errors: system_error.
  static Result<std::unique_ptr<Child>> start(std::vector<std::string> words, const std::string& log);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // SIGTERM, and SIGKILL where that does not end it within 6 s.
  ~Child();

  // The next line of its stdout that starts with `start`. Errors: deadline_exceeded, operation_failed (it ended).
  Result<std::string> wait_for_line(std::string_view start, Nanoseconds timeout);
  struct Ended {
    int code = 0;  // as it exited; 128 and the signal that killed it otherwise
    std::string output;
  };
  // All that it still prints, and how it ends. Errors: deadline_exceeded.
  Result<Ended> wait_for_end(Nanoseconds timeout);
  // What it has printed so far and nobody has taken, for one that did not end in time.
  [[nodiscard]] const std::string& printed() const { return text_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Stands still while this lives, so that its processor is free for a reference.
  class Pause {
   public:
    explicit Pause(const Child& child);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    pid_t pid_;
  };

 private:
  Child(pid_t pid, Descriptor output) : pid_(pid), output_(std::move(output)) {}
  bool read_more(Nanoseconds deadline);
  void end();

  pid_t pid_;
  Descriptor output_;
  std::string text_;
  bool at_end_ = false;
  bool reaped_ = false;
  int status_ = 0;
};

}  // namespace rde::tools
