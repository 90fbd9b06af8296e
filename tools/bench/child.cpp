#include "bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

extern char** environ;

namespace rde::tools {

Result<std::unique_ptr<Child>> Child::start(std::vector<std::string> words, const std::string& log) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
  Descriptor output(ends[0]);
  const Descriptor input(ends[1]);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  pid_t pid = -1;
  const int code = posix_spawn(&pid, words.front().c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return system_error("start '" + words.front() + "'", code);
  return std::unique_ptr<Child>(new Child(pid, std::move(output)));
}

Child::~Child() { end(); }

void Child::end() {
  if (reaped_) return;
  kill(pid_, SIGTERM);
  for (int i = 0; i < 600; ++i) {
    if (waitpid(pid_, &status_, WNOHANG) == pid_) {
      reaped_ = true;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, &status_, 0);
  reaped_ = true;
}

// False at the end of the output, or of the time.
bool Child::read_more(Nanoseconds deadline) {
  const Nanoseconds now = now_ns();
  if (at_end_ || now >= deadline) return false;
  pollfd entry{output_.get(), POLLIN, 0};
  if (poll(&entry, 1, static_cast<int>((deadline - now) / kMillisecond + 1)) <= 0) return now_ns() < deadline;
  std::array<char, 65536> bytes;
  const ssize_t count = read(output_.get(), bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) {
    at_end_ = true;
    return false;
  }
  text_.append(bytes.data(), static_cast<std::size_t>(count));
  return true;
}

Result<std::string> Child::wait_for_line(std::string_view start, Nanoseconds timeout) {
  const Nanoseconds deadline = now_ns() + timeout;
  do {
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const std::string line = text_.substr(0, end);
      text_.erase(0, end + 1);
      if (line.starts_with(start)) return line;
    }
  } while (read_more(deadline));
  if (at_end_) return Error{Status::operation_failed, "it ended before it printed '" + std::string(start) + "'"};
  return Error{Status::deadline_exceeded, "it did not print '" + std::string(start) + "' in time"};
}

Result<std::string> Child::wait_for_end(Nanoseconds timeout) {
  const Nanoseconds deadline = now_ns() + timeout;
  while (read_more(deadline)) {
  }
  if (!at_end_) return Error{Status::deadline_exceeded, "it did not end in time"};
  if (waitpid(pid_, &status_, 0) == pid_) reaped_ = true;
  if (!WIFEXITED(status_) || WEXITSTATUS(status_) != 0) {
    return Error{Status::operation_failed, WIFEXITED(status_) ? "it exited with " + std::to_string(WEXITSTATUS(status_))
                                                              : "it was killed by a signal"};
  }
  return std::move(text_);
}

Child::Pause::Pause(const Child& child) : pid_(child.pid_) {
  kill(pid_, SIGSTOP);
  // The signal is delivered at its next interrupt; only then is its processor free.
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

Child::Pause::~Pause() { kill(pid_, SIGCONT); }

}  // namespace rde::tools
