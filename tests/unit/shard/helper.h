// A client in a process of its own (helper.cpp has its commands).
//
//   Helper helper;
//   CHECK(helper.ask("attach " + rig.socket()) == "attached 1");
//   helper.signal(SIGKILL);
#pragma once

#include <sys/types.h>

#include <string>

#include "base/descriptor.h"

namespace rde::test {

class Helper {
 public:
  Helper();
  // Kills it where it still runs.
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  // The answer; empty when the process is gone or takes longer than any test should.
  std::string ask(const std::string& command);
  void tell(const std::string& command);
  void signal(int number) const;
  // Waits for its end.
  void join();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Descriptor to_;
  Descriptor from_;
};

}  // namespace rde::test
