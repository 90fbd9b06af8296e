// The suite over verbs: exit code 77, "skipped", where this host has no RDMA device that works.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "transport/verbs/verbs_selftest.h"

int main(int argc, char** argv) {
  spdlog::set_level(spdlog::level::warn);
  constexpr int kSkipped = 77;
  const auto finding = rde::find_working_port({});
  if (!finding) {
    std::printf("SKIPPED: %s\n", finding.error().text.c_str());
    return kSkipped;
  }
  std::printf("device %s, GID %s\n", finding->port.text().c_str(), rde::text_of_gid(finding->gid.gid).c_str());
  return doctest::Context(argc, argv).run();
}
