#include "control/memory_limit.h"

#include <doctest/doctest.h>
#include <unistd.h>

TEST_CASE("the memory that may be used is no more than the machine has, and not nothing") {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  CHECK(rde::memory_limit() > 0);
  CHECK(rde::memory_limit() <= pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}
