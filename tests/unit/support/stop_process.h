// Stops a child for a while, as a debugger or a full disk does.
#pragma once

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <csignal>

namespace rde::test {

// Returns when every thread of the child stands: on another processor one goes on for a while after the signal.
inline void stop_process(pid_t child) {
  REQUIRE(::kill(child, SIGSTOP) == 0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WEXITED | WNOWAIT) == 0);
  REQUIRE(info.si_code == CLD_STOPPED);
}

}  // namespace rde::test
