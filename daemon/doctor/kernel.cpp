#include <cerrno>
#include <cstring>

#include "doctor/host.h"

namespace rde {
namespace {

// Of a cgroup, in processors; nothing where it may use all.
std::optional<double> processor_quota(const std::filesystem::path& root) {
  const auto line = first_line(root / "sys/fs/cgroup/cpu.max");
  if (!line || line->starts_with("max")) return std::nullopt;
  const auto space = line->find(' ');
  if (space == std::string::npos) return std::nullopt;
  const double period = std::strtod(line->c_str() + space, nullptr);
  return period > 0 ? std::optional(std::strtod(line->c_str(), nullptr) / period) : std::nullopt;
}

std::string one_decimal(double number) {
  std::string text = std::to_string(number);
  return text.substr(0, text.find('.') + 2);
}

}  // namespace

Finding check_io_uring(const Config& config, const std::filesystem::path& root, int setup_error) {
  Finding finding{.check = "io_uring"};
  if (setup_error == 0) {
    finding.text = "works";
    return finding;
  }
  finding.severity = config.exports.empty() ? Severity::note : Severity::warning;
  finding.text = std::string("refused: ") + std::strerror(setup_error) + "; volumes are read by a pool of threads";
  if (number_in(root / "proc/sys/kernel/io_uring_disabled").value_or(0) != 0) {
    finding.mend = "sysctl -w kernel.io_uring_disabled=0";
  } else {
    finding.mend = "allow io_uring_setup in the seccomp profile of the container";
  }
  return finding;
}

Finding check_processors(const Config& config, const std::filesystem::path& root, std::size_t allowed) {
  Finding finding{.check = "processors"};
  const auto quota = processor_quota(root);
  finding.text = std::to_string(allowed) + " processors allowed" +
                 (quota ? ", quota of " + one_decimal(*quota) : std::string(", no quota")) + "; " +
                 std::to_string(std::max<std::size_t>(config.cores.size(), 1)) + " polling cores configured";
  const double have = quota ? std::min(*quota, static_cast<double>(allowed)) : static_cast<double>(allowed);
  if (config.poll == PollMode::spin &&
      have < static_cast<double>(std::max<std::size_t>(config.cores.size(), 1)) + 0.5) {
    finding.severity = Severity::warning;
    finding.mend = "--poll adaptive: spinning takes a processor from those who wait for it";
  }
  return finding;
}

}  // namespace rde
