#include "bench/switch_watch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rde::tools {
namespace {

std::string busiest_thread(pid_t process) {
  std::string busiest;
  std::uint64_t most = 0;
  std::error_code failed;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (std::filesystem::directory_iterator at(tasks, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string file = at->path().string() + "/schedstat";
    std::uint64_t used = 0;
    std::ifstream(file) >> used;
    if (used < most) continue;
    most = used;
    busiest = file;
  }
  return busiest;
}

}  // namespace

std::uint64_t turns_of(const std::string& schedstat) {
  std::istringstream fields(schedstat);
  std::uint64_t used = 0, waited = 0, turns = 0;
  fields >> used >> waited >> turns;
  return fields ? turns : 0;
}

SwitchWatch::SwitchWatch(pid_t other) {
  if (other != 0) other_ = Descriptor(open(busiest_thread(other).c_str(), O_RDONLY | O_CLOEXEC));
  last_ = count();
}

std::uint64_t SwitchWatch::count() const {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  auto total = static_cast<std::uint64_t>(usage.ru_nvcsw + usage.ru_nivcsw);
  std::array<char, 96> text;
  if (!other_) return total;
  const ssize_t length = pread(other_.get(), text.data(), text.size(), 0);
  return length <= 0 ? total : total + turns_of(std::string(text.data(), static_cast<std::size_t>(length)));
}

bool SwitchWatch::switched() {
  const std::uint64_t before = last_;
  last_ = count();
  return last_ != before;
}

}  // namespace rde::tools
