#include "dump/process.h"

#include <doctest/doctest.h>

using namespace rde::tools;

namespace {
constexpr const char* kName = " /memfd:rde-segment (deleted)\n";
}

TEST_CASE("mappings of segments are found among others") {
  const auto found = parse_maps(std::string("00400000-00401000 r-xp 00000000 08:01 123 /usr/bin/thing\n") +
                                "7f0000000000-7f0000200000 rw-s 00000000 00:01 42" + kName +
                                "7f0000200000-7f0000300000 rw-s 00000000 00:01 43 /memfd:other (deleted)\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].start == 0x7f0000000000);
  CHECK(found[0].end == 0x7f0000200000);
  CHECK(found[0].inode == 42);
  CHECK(found[0].range == "7f0000000000-7f0000200000");
}

TEST_CASE("a mapping that the kernel lists in parts is one segment") {
  const auto found = parse_maps(std::string("7f0000000000-7f0000100000 rw-s 00000000 00:01 42") + kName +
                                "7f0000100000-7f0000200000 rw-s 00100000 00:01 42" + kName +
                                "7f0000200000-7f0000400000 rw-s 00000000 00:01 44" + kName);
  REQUIRE(found.size() == 2);
  CHECK(found[0].end == 0x7f0000200000);
  CHECK(found[1].inode == 44);
}

TEST_CASE("lines that are no mappings are passed over") {
  CHECK(parse_maps("").empty());
  CHECK(parse_maps(kName).empty());
  CHECK(parse_maps(std::string("zzz-yyy rw-s 00000000 00:01 42") + kName).empty());
  CHECK(parse_maps(std::string("2000-1000 rw-s 00000000 00:01 42") + kName).empty());
}

TEST_CASE("a process that is not there is named") {
  const auto found = find_in_process(0x7FFFFFFF);
  REQUIRE_FALSE(found);
  CHECK(found.error().text.find("2147483647") != std::string::npos);
}
