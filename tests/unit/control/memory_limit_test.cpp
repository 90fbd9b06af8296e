#include "control/memory_limit.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/temporary_folder.h"

using namespace rde;
using rde::test::TemporaryFolder;

namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;

void put(const TemporaryFolder& root, const std::string& file, const std::string& text) {
  const auto path = root.path() / file;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text << "\n";
}

std::uint64_t limit_with(const TemporaryFolder& root) { return memory_limit(root.path()); }

}  // namespace

TEST_CASE("the memory that may be used is no more than the machine has, and not nothing") {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  CHECK(memory_limit() > 0);
  CHECK(memory_limit() <= pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

TEST_CASE("the least limit of a cgroup and its parents counts, in both versions") {
  const TemporaryFolder root;
  const auto machine = limit_with(root);
  SUBCASE("version 2") {
    put(root, "proc/self/cgroup", "0::/system/engine");
    put(root, "sys/fs/cgroup/system/engine/memory.max", "max");
    CHECK(limit_with(root) == machine);
    put(root, "sys/fs/cgroup/system/memory.max", std::to_string(400 * kMebibyte));
    CHECK(limit_with(root) == 400 * kMebibyte);
  }
  SUBCASE("version 1") {
    put(root, "proc/self/cgroup", "5:cpu,cpuacct:/other\n4:hugetlb,memory:/docker/engine\n0::/");
    put(root, "sys/fs/cgroup/memory/docker/engine/memory.limit_in_bytes", "9223372036854771712");
    CHECK(limit_with(root) == machine);
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(300 * kMebibyte));
    CHECK(limit_with(root) == 300 * kMebibyte);
  }
  SUBCASE("lines that are none") {
    put(root, "proc/self/cgroup", "nonsense\n:::\n4:memory");
    CHECK(limit_with(root) == machine);
  }
}

TEST_CASE("staging memory and a segment that do not fit are refused by the option's name") {
  Config config;
  config.listen = HostPort{"127.0.0.1", 0};
  config.buffer_size = 64 * kMebibyte;
  config.segment_size = 64 * kMebibyte;
  CHECK(check_memory(config, 400 * kMebibyte));
  CHECK(most_segment_bytes(config, 400 * kMebibyte) == 168 * kMebibyte);
  config.cores = {0, 1, 2, 3};
  const auto staging = check_memory(config, 400 * kMebibyte);
  REQUIRE_FALSE(staging);
  CHECK(staging.error().status == Status::invalid_request);
  CHECK(staging.error().text.find("--buffer-size") == 0);
  config.listen.reset();  // then there is none
  CHECK(check_memory(config, 400 * kMebibyte));
  const auto segment = check_memory(config, 100 * kMebibyte);
  REQUIRE_FALSE(segment);
  CHECK(segment.error().text.find("--segment-size") == 0);
  config.max_segment_bytes = 64 * kMebibyte;  // the operator knows better
  CHECK(check_memory(config, 100 * kMebibyte));
}
