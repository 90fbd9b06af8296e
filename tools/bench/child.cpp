#include "bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "bench/placement.h"

namespace rde::tools {

namespace {

// In the new process, where only calls that are safe in a signal handler are: becomes the program, or tells why not.
[[noreturn]] void become(char** argv, int output, const char* log, int failure) {
  // Whoever is killed in the middle of a measure must not leave an engine that spins for ever.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  unpin_thread();
  const int errors = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (errors >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) execv(argv[0], argv);
  const int code = errno;
  (void)!write(failure, &code, sizeof code);
  _exit(127);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::start(std::vector<std::string> words, const std::string& log) {
  std::array<int, 2> out{}, failure{};
  if (pipe2(out.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
  Descriptor output(out[0]);
  Descriptor input(out[1]);
  if (pipe2(failure.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
  const Descriptor failed(failure[0]);
  Descriptor fails(failure[1]);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return system_error("fork", errno);
  if (pid == 0) become(argv.data(), input.get(), log.c_str(), fails.get());
  fails.reset();
  input.reset();
  int code = 0;
  ssize_t count = 0;
  // Ends without a byte once the program runs.
  do {
    count = read(failed.get(), &code, sizeof code);
  } while (count < 0 && errno == EINTR);
  if (count > 0) {
    waitpid(pid, nullptr, 0);
    return system_error("start '" + words.front() + "'", code);
  }
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

Result<Child::Ended> Child::wait_for_end(Nanoseconds timeout) {
  const Nanoseconds deadline = now_ns() + timeout;
  while (read_more(deadline)) {
  }
  // One that has closed its output may go on all the same.
  while (at_end_ && !reaped_) {
    if (waitpid(pid_, &status_, WNOHANG) == pid_) {
      reaped_ = true;
    } else if (now_ns() >= deadline) {
      break;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (!reaped_) return Error{Status::deadline_exceeded, "it did not end in time"};
  const int code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  return Ended{code, std::exchange(text_, {})};
}

Child::Pause::Pause(const Child& child) : pid_(child.pid_) {
  kill(pid_, SIGSTOP);
  // The signal is delivered at its next interrupt; only then is its processor free.
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT);
}

Child::Pause::~Pause() { kill(pid_, SIGCONT); }

}  // namespace rde::tools
