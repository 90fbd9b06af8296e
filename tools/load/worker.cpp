#include "load/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>

#include "common/exit_code.h"

extern char** environ;

namespace rde::tools {
namespace {

using Json = nlohmann::json;

void print_line(const Json& json) { std::cout << json.dump() << '\n' << std::flush; }

Json to_json(const ProgressCount& count) {
  return {{"done", count.done}, {"failed", count.failed}, {"bytes", count.bytes}};
}

}  // namespace

int run_worker(const LoadOptions& options, const StopSign& stop) {
  // A parent that is killed takes its workers with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Session session(options, stop);
  if (auto opened = session.open(); !opened) {
    print_line({{"refused", opened.error().text}, {"status", static_cast<unsigned>(opened.error().status)}});
    return kCouldNotStart;
  }
  const auto result = session.run([](const ProgressCount& count) { print_line({{"progress", to_json(count)}}); });
  print_line({{"tally", to_json(result.tally)},
              {"seconds", result.seconds},
              {"timed_out", result.timed_out},
              {"troubles", result.troubles}});
  return kGood;
}

Fleet::~Fleet() {
  signal_all(SIGKILL);
  for (const auto& worker : workers_) waitpid(worker.pid, nullptr, 0);
}

Result<void> Fleet::start(const std::vector<std::string>& arguments, std::uint32_t processes) {
  std::vector<std::string> words = arguments;
  words.emplace_back("--worker");
  words.emplace_back();
  const sigset_t held_back = stop_signals();  // a worker lets them in once it has handlers for them
  for (std::uint32_t i = 0; i < processes; ++i) {
    words.back() = std::to_string(i);
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("pipe", errno);
    Worker worker;
    worker.output = Descriptor(ends[0]);
    const Descriptor input(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &held_back);
    const int code = posix_spawn(&worker.pid, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (code != 0) return system_error("start worker " + std::to_string(i), code);
    workers_.push_back(std::move(worker));
  }
  return {};
}

Result<SessionResult> Fleet::run(const StopSign& stop, const std::function<void(const ProgressCount&)>& progress) {
  Nanoseconds due = now_ns() + kSecond;
  for (int told = 0;;) {
    std::vector<pollfd> entries;
    for (const auto& worker : workers_) {
      if (worker.output) entries.push_back({worker.output.get(), POLLIN, 0});
    }
    if (entries.empty()) break;
    if (poll(entries.data(), entries.size(), 100) > 0) {
      for (const auto& entry : entries) {
        if (entry.revents == 0) continue;
        read_from(*std::ranges::find_if(workers_, [&](const Worker& w) { return w.output.get() == entry.fd; }));
      }
    }
    for (; told < stop.level(); ++told) signal_all(SIGTERM);
    if (!refused_.empty()) return refused_.front();
    if (now_ns() >= due) {
      due += kSecond;
      progress(count());
    }
  }
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i].finished) result_.troubles.push_back("worker " + std::to_string(i) + " ended without a result");
  }
  return std::move(result_);
}

void Fleet::read_from(Worker& worker) {
  std::array<char, 65536> bytes;
  const ssize_t count = read(worker.output.get(), bytes.data(), bytes.size());
  if (count < 0 && errno == EINTR) return;
  if (count <= 0) {
    worker.output.reset();
    return;
  }
  worker.line.append(bytes.data(), static_cast<std::size_t>(count));
  std::size_t start = 0;
  for (auto end = worker.line.find('\n'); end != std::string::npos; end = worker.line.find('\n', start)) {
    take_line(worker, std::string_view(worker.line).substr(start, end - start));
    start = end + 1;
  }
  worker.line.erase(0, start);
}

void Fleet::take_line(Worker& worker, std::string_view line) {
  const auto json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return;
  try {
    if (json.contains("refused")) {
      refused_.push_back({Status{json.at("status").get<std::uint16_t>()}, json.at("refused").get<std::string>()});
    } else if (json.contains("progress")) {
      const auto& count = json.at("progress");
      worker.count = {count.at("done"), count.at("failed"), count.at("bytes")};
    } else {
      auto tally = tally_from_json(json.at("tally"));
      if (!tally) return;
      result_.tally.merge(*tally);
      result_.seconds = std::max(result_.seconds, json.at("seconds").get<double>());
      result_.timed_out |= json.at("timed_out").get<bool>();
      for (const auto& trouble : json.at("troubles")) result_.troubles.push_back(trouble.get<std::string>());
      worker.finished = true;
    }
  } catch (const Json::exception&) {
    // Not one of our lines: the worker then counts as one without a result.
  }
}

void Fleet::signal_all(int signal) {
  for (const auto& worker : workers_) kill(worker.pid, signal);
}

ProgressCount Fleet::count() const {
  ProgressCount sum;
  for (const auto& worker : workers_) {
    sum.done += worker.count.done;
    sum.failed += worker.count.failed;
    sum.bytes += worker.count.bytes;
  }
  return sum;
}

}  // namespace rde::tools
