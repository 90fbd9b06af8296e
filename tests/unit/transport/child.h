// Another process that a test starts, and ends.
#pragma once

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

namespace rde::test {

// A child that runs a program from beside this one; its stdout can be read.
class Child {
 public:
  Child(const char* name, const char* mode) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);  // signals to -1 would reach everybody
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execl(program.c_str(), program.c_str(), mode, nullptr);
      ::_exit(127);
    }
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
