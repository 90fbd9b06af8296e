// Another process that a test starts, and ends.
#pragma once

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "support/stop_process.h"

namespace rde::test {

// A child that runs a program from beside this one; its stdout can be read.
class Child {
 public:
  Child(const char* name, const char* mode) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    REQUIRE(::posix_spawn_file_actions_init(&actions) == 0);
    REQUIRE(::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) == 0);
    std::string path = program.string();
    std::string argument = mode;
    char* const arguments[] = {path.data(), argument.data(), nullptr};
    // A signal to the pid of a child that is not there would reach others.
    REQUIRE(::posix_spawn(&pid_, path.c_str(), &actions, nullptr, arguments, environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Child() {
    kill(SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    std::fclose(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill(int signal) const { ::kill(pid_, signal); }
  void stop() const { stop_process(pid_); }
  std::string line() {
    char text[256] = {};
    REQUIRE(std::fgets(text, sizeof(text), output_) != nullptr);
    return std::string(text, std::strcspn(text, "\n"));
  }

 private:
  pid_t pid_;
  std::FILE* output_;
};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* directory = ::opendir("/proc/self/fd");
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

}  // namespace rde::test
