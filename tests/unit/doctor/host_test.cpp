// The checks of the host, each on a tree of files made for it.
#include "doctor/host.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

using namespace rde;
using rde::test::TemporaryFolder;

namespace {

class Host {
 public:
  void put(const std::string& file, const std::string& text) const {
    const auto path = root() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void pool(int total, int free) const {
    put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", std::to_string(total));
    put("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", std::to_string(free));
  }
  void port(const std::string& state) const {
    const std::string port = "sys/class/infiniband/rxe0/ports/1/";
    put(port + "state", state);
    put(port + "link_layer", "Ethernet");
    put(port + "gids/0", "fe80:0000:0000:0000:5054:00ff:fe12:3456");
    put(port + "gid_attrs/types/0", "IB/RoCE v1");
    put(port + "gid_attrs/ndevs/0", "eth7");
    put("sys/class/net/eth7/mtu", "9000");
  }
  [[nodiscard]] std::filesystem::path root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("hugepages are good with a pool that holds a client, and say how many are missing otherwise") {
  const Host host;
  Config config;
  config.segment_size = 64 << 20;
  host.pool(40, 32);
  CHECK(check_hugepages(config, host.root()).severity == Severity::good);
  host.pool(40, 31);
  const auto few = check_hugepages(config, host.root());
  CHECK(few.severity == Severity::warning);
  CHECK(has(few.mend, "vm.nr_hugepages=41"));
  config.hugepages = HugepageMode::require;
  CHECK(check_hugepages(config, host.root()).severity == Severity::error);
  config.hugepages = HugepageMode::off;
  CHECK(check_hugepages(config, host.root()).severity == Severity::note);
}

TEST_CASE("a kernel without hugepages counts as an empty pool") {
  const Host host;
  CHECK(check_hugepages({}, host.root()).severity == Severity::warning);
}

TEST_CASE("memlock is an error only where memory is registered with a device") {
  Config config;
  CHECK(check_memlock(config, std::nullopt).severity == Severity::good);
  CHECK(check_memlock(config, 8 << 20).severity == Severity::note);
  config.transport = TransportChoice::verbs;
  const auto small = check_memlock(config, 8 << 20);
  CHECK(small.severity == Severity::error);
  CHECK(has(small.text, "8 MiB"));
  CHECK(check_memlock(config, std::uint64_t{1} << 40).severity == Severity::good);
}

TEST_CASE("memory that the configuration takes and the process may not use is an error") {
  Config config;
  CHECK(check_memory_use(config, std::uint64_t{1} << 30).severity == Severity::good);
  CHECK(check_memory_use(config, 64 << 20).severity == Severity::error);
}

TEST_CASE("the limit of open files is held against --max-clients") {
  Config config;
  config.max_clients = 100;
  CHECK(check_open_files(config, 1'024).severity == Severity::good);
  config.max_clients = 1'000;
  CHECK(check_open_files(config, 1'024).severity == Severity::warning);
}

TEST_CASE("io_uring that is refused says whether the kernel or the container does it") {
  const Host host;
  Config config;
  config.exports = {"/data"};
  CHECK(check_io_uring(config, host.root(), 0).severity == Severity::good);
  CHECK(has(check_io_uring(config, host.root(), EPERM).mend, "seccomp"));
  host.put("proc/sys/kernel/io_uring_disabled", "2");
  const auto disabled = check_io_uring(config, host.root(), EPERM);
  CHECK(disabled.severity == Severity::warning);
  CHECK(has(disabled.mend, "io_uring_disabled=0"));
}

TEST_CASE("spinning with less than a processor to spare is warned of") {
  const Host host;
  Config config;
  config.poll = PollMode::spin;
  CHECK(check_processors(config, host.root(), 2).severity == Severity::good);
  CHECK(check_processors(config, host.root(), 1).severity == Severity::warning);
  host.put("sys/fs/cgroup/cpu.max", "50000 100000");
  const auto half = check_processors(config, host.root(), 8);
  CHECK(half.severity == Severity::warning);
  CHECK(has(half.text, "quota of 0.5"));
  config.poll = PollMode::adaptive;
  CHECK(check_processors(config, host.root(), 8).severity == Severity::good);
}

TEST_CASE("modules that are missing are named in the command that loads them") {
  const Host host;
  host.put("sys/module/ib_core/refcnt", "1");
  CHECK(check_rdma_modules(host.root()).mend == "modprobe -a ib_uverbs rdma_cm");
  host.put("sys/module/ib_uverbs/refcnt", "1");
  host.put("sys/module/rdma_cm/refcnt", "1");
  CHECK(check_rdma_modules(host.root()).severity == Severity::good);
}

TEST_CASE("a host without an RDMA device is an error only where RDMA is asked for") {
  const Host host;
  Config config;
  CHECK(check_rdma_devices(config, host.root()).at(0).severity == Severity::note);
  config.transport = TransportChoice::verbs;
  CHECK(check_rdma_devices(config, host.root()).at(0).severity == Severity::error);
}

TEST_CASE("a port is good when it is active and has an address of RoCE v2") {
  const Host host;
  host.port("4: ACTIVE");
  auto findings = check_rdma_devices({}, host.root());
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].severity == Severity::warning);
  CHECK(has(findings[0].mend, "ip addr add"));
  CHECK(has(findings[0].text, "eth7 with MTU 9000"));

  const std::string port = "sys/class/infiniband/rxe0/ports/1/";
  host.put(port + "gids/1", "0000:0000:0000:0000:0000:ffff:c000:0201");
  host.put(port + "gid_attrs/types/1", "RoCE v2");
  host.put(port + "gids/2", "0000:0000:0000:0000:0000:0000:0000:0000");  // an empty slot
  host.put(port + "gid_attrs/types/2", "RoCE v2");
  host.put(port + "gids/3", "fe80:0000:0000:0000:0000:0000:0000:0001");  // its type cannot be read
  findings = check_rdma_devices({}, host.root());
  CHECK(findings[0].severity == Severity::good);
  CHECK(has(findings[0].text, "1 RoCE v2"));

  host.port("1: DOWN");
  CHECK(has(check_rdma_devices({}, host.root())[0].mend, "ip link set"));
}
