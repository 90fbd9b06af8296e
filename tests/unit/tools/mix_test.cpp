#include "load/mix.h"

#include <doctest/doctest.h>

using namespace rde;
using namespace rde::tools;

TEST_CASE("a mix names operations and their weights") {
  const auto mix = parse_mix("nop=70,read=30");
  REQUIRE(mix);
  CHECK(mix->weight(Op::nop) == 70);
  CHECK(mix->weight(Op::read) == 30);
  CHECK(mix->weight(Op::ping) == 0);
  CHECK(mix->needs_objects());
}

TEST_CASE("an operation without a weight has the weight 1") {
  const auto mix = parse_mix("nop,ping");
  REQUIRE(mix);
  CHECK(mix->weight(Op::ping) == 1);
  CHECK_FALSE(mix->needs_objects());
}

TEST_CASE("operations are picked as often as their weights say") {
  const auto mix = parse_mix("nop=1,ping=2,stat=0,read=3");
  REQUIRE(mix);
  std::array<int, kOps> picked{};
  for (std::uint64_t random = 0; random < 600; ++random) ++picked[index_of(mix->pick(random))];
  CHECK(picked == std::array<int, kOps>{100, 200, 0, 300});
}

TEST_CASE("a mix that is not one is refused and the part is quoted") {
  for (const char* text : {"", "nop=", "nop=x", "nop=-1", "nop=1000001", "write=1", "nop=1,", ",nop", "nop=1,nop=2",
                           "nop = 1", "nop=1;read=2", "nop=0", "NOP=1", "nop=1=2", "nop=99999999999999999999"}) {
    CAPTURE(text);
    const auto mix = parse_mix(text);
    REQUIRE_FALSE(mix);
    CHECK(mix.error().status == Status::invalid_request);
    CHECK(mix.error().text.find("--mix '") == 0);
  }
}
