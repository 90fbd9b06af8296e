#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "helper.h"
#include "rig.h"

namespace rde::test {

Helper::Helper() {
  int in[2];
  int out[2];
  REQUIRE(pipe2(in, O_CLOEXEC) == 0);
  REQUIRE(pipe2(out, O_CLOEXEC) == 0);
  to_ = Descriptor(in[1]);
  from_ = Descriptor(out[0]);
  const Descriptor theirs_in(in[0]);
  const Descriptor theirs_out(out[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs_in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs_out.get(), STDOUT_FILENO);
  std::string path = RDE_TEST_HELPER;
  char* const arguments[] = {path.data(), nullptr};
  const int code = posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(code == 0);
}

Helper::~Helper() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  join();
}

void Helper::join() {
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Helper::signal(int number) const { kill(pid_, number); }

void Helper::tell(const std::string& command) {
  const std::string line = command + "\n";
  CHECK(write(to_.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
}

std::string Helper::ask(const std::string& command) {
  tell(command);
  std::string answer;
  for (;;) {
    pollfd entry{from_.get(), POLLIN, 0};
    if (poll(&entry, 1, static_cast<int>(kPatience / kMillisecond)) <= 0) return "";
    char byte = 0;
    if (read(from_.get(), &byte, 1) != 1) return "";
    if (byte == '\n') return answer;
    answer += byte;
  }
}

}  // namespace rde::test
