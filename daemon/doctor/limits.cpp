#include <fstream>

#include "control/memory_limit.h"
#include "doctor/host.h"

namespace rde {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kDescriptorsOfClient = 6;  // socket, segment, two ends of the wake pair, doorbell, pidfd
constexpr std::uint64_t kDescriptorsOfEngine = 64;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / kMebibyte) + " MiB"; }

// What one client and the engine's own staging memory take.
std::uint64_t least_memory(const Config& config) {
  return config.segment_size + (config.exports.empty() ? 0 : config.buffer_size);
}

}  // namespace

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint64_t number = 0;
  if (!(stream >> number)) return std::nullopt;
  return number;
}

Finding check_hugepages(const Config& config, const std::filesystem::path& root) {
  Finding finding{.check = "hugepages"};
  if (config.hugepages == HugepageMode::off) {
    finding.severity = Severity::note;
    finding.text = "not used (--hugepages off)";
    return finding;
  }
  const auto pool = root / "sys/kernel/mm/hugepages/hugepages-2048kB";
  const auto total = number_in(pool / "nr_hugepages").value_or(0);
  const auto free = number_in(pool / "free_hugepages").value_or(0);
  const std::uint64_t need = (least_memory(config) + kHugePage - 1) / kHugePage;
  finding.text = std::to_string(free) + " of " + std::to_string(total) +
                 " pages of 2 MiB are free; a first client needs " + std::to_string(need);
  if (free >= need) return finding;
  finding.severity = config.hugepages == HugepageMode::require ? Severity::error : Severity::warning;
  finding.mend =
      "sysctl -w vm.nr_hugepages=" + std::to_string(total + need - free) + " (and the same in /etc/sysctl.d)";
  return finding;
}

Finding check_memlock(const Config& config, std::optional<std::uint64_t> limit) {
  Finding finding{.check = "memlock"};
  const std::uint64_t need = least_memory(config);
  finding.text = "limit of locked memory " + (limit ? mebibytes(*limit) : "unlimited") + "; a first client needs " +
                 mebibytes(need) + " where memory is registered with a device";
  if (!limit || *limit >= need) return finding;
  const bool is_rdma = config.transport == TransportChoice::verbs || config.transport == TransportChoice::ucx;
  finding.severity = is_rdma ? Severity::error : Severity::note;
  finding.mend = "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited";
  return finding;
}

Finding check_memory_use(const Config& config, std::uint64_t limit) {
  Finding finding{.check = "memory"};
  if (const auto fits = check_memory(config, limit); !fits) {
    finding.severity = Severity::error;
    finding.text = fits.error().text;
    finding.mend = "the option that the text names, or the cgroup's limit (MemoryMax= of the unit)";
    return finding;
  }
  finding.text = "this process may use " + mebibytes(limit) + ", all clients together " +
                 mebibytes(most_segment_bytes(config, limit));
  return finding;
}

Finding check_open_files(const Config& config, std::uint64_t limit) {
  Finding finding{.check = "open_files"};
  const std::uint64_t need = kDescriptorsOfEngine + kDescriptorsOfClient * config.max_clients;
  finding.text = "limit of open files " + std::to_string(limit) + "; " + std::to_string(config.max_clients) +
                 " clients (--max-clients) take " + std::to_string(need);
  if (limit >= need) return finding;
  finding.severity = Severity::warning;
  finding.mend = "LimitNOFILE=" + std::to_string(need) + " in the unit, or ulimit -n " + std::to_string(need);
  return finding;
}

}  // namespace rde
