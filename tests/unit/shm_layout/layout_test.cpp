#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "golden_layout.generated.h"

TEST_CASE("the compiler's layout is the golden one") {
  const char* path = std::getenv("RDE_GOLDEN_LAYOUT");
  REQUIRE_MESSAGE(path != nullptr, "RDE_GOLDEN_LAYOUT names shm_layout/golden/layout.txt");
  std::ifstream file(path);
  REQUIRE(file.is_open());
  std::stringstream golden;
  golden << file.rdbuf();
  CHECK(golden_layout() == golden.str());
}
