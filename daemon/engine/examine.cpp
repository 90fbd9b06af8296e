#include "engine/examine.h"

#include <liburing.h>
#include <sched.h>
#include <sys/resource.h>

#include <iterator>
#include <optional>

#include "control/memory_limit.h"
#include "doctor/host.h"
#include "doctor/setup.h"
#include "engine/make_transport.h"

namespace rde {
namespace {

std::optional<std::uint64_t> limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::size_t allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : 1;
}

// 0, or why the kernel refuses a ring.
int try_io_uring() {
  io_uring ring;
  const int code = io_uring_queue_init(2, &ring, 0);
  if (code == 0) io_uring_queue_exit(&ring);
  return -code;
}

Finding check_transport(const Config& config) {
  Finding finding{.check = "transport"};
  if (config.transport == TransportChoice::sim) {
    finding.severity = Severity::note;
    finding.text = "sim: for tests, within the process";
    return finding;
  }
  const auto transport = make_transport(config);
  if (!transport) {
    finding.severity = Severity::error;
    finding.text = transport.error().text;
    finding.mend = "what the text says, or another --transport";
    return finding;
  }
  if (!*transport) {
    finding.severity = Severity::note;
    finding.text = "none in this build; local volumes alone are served";
    return finding;
  }
  const std::string name((*transport)->name());
  finding.text = name + " over " + (*transport)->device() + ", version " + transport_version(name);
  return finding;
}

void append(Findings& to, Findings more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

Findings examine(const Config& config) {
  constexpr const char* kRoot = "/";
  Findings findings{
      check_hugepages(config, kRoot),
      check_memory_use(config, memory_limit()),
      check_memlock(config, limit_of(RLIMIT_MEMLOCK)),
      check_open_files(config, limit_of(RLIMIT_NOFILE).value_or(~std::uint64_t{0})),
      check_processors(config, kRoot, allowed_processors()),
      check_io_uring(config, kRoot, try_io_uring()),
      check_socket(config),
      check_psk(config),
      check_trust(config),
  };
  append(findings, check_exports(config));
  append(findings, check_addresses(config));
  findings.push_back(check_rdma_modules(kRoot));
  append(findings, check_rdma_devices(config, kRoot));
  findings.push_back(check_transport(config));
  return findings;
}

}  // namespace rde
