#include "seaweed/file_id.h"

#include <doctest/doctest.h>

using rde::FileId;

TEST_CASE("a file id is volume, key and cookie") {
  CHECK(*rde::parse_file_id("3,01637037d6") == FileId{3, 1, 0x637037d6});
  CHECK(*rde::parse_file_id("1,ffffffffffff") == FileId{1, 0xffff, 0xffffffff});
}

TEST_CASE("key and cookie may have an odd number of digits") {
  CHECK(*rde::parse_file_id("3,1637037d6") == FileId{3, 1, 0x637037d6});
  CHECK(*rde::parse_file_id("3,abc00000000") == FileId{3, 0xabc, 0});
}

TEST_CASE("hex digits may be capitals") { CHECK(*rde::parse_file_id("3,0ABCDEF0123") == FileId{3, 0x0AB, 0xCDEF0123}); }

TEST_CASE("the largest file id is read whole") {
  CHECK(*rde::parse_file_id("4294967295,ffffffffffffffffffffffff") ==
        FileId{0xffffffff, 0xffffffffffffffff, 0xffffffff});
}

TEST_CASE("a suffix adds to the key") { CHECK(*rde::parse_file_id("3,01637037d6_41") == FileId{3, 42, 0x637037d6}); }

TEST_CASE("a file id is written as SeaweedFS writes it") {
  CHECK(rde::format_file_id({3, 1, 0x637037d6}) == "3,01637037d6");
  CHECK(rde::format_file_id({7, 0x12345, 0}) == "7,01234500000000");
  CHECK(rde::format_file_id({0, 0, 5}) == "0,0000000005");
  CHECK(rde::format_file_id({1, ~0ULL, ~0U}) == "1,ffffffffffffffffffffffff");
}

TEST_CASE("what is written reads back") {
  for (const std::uint64_t key : {0ULL, 1ULL, 0xffULL, 0x100ULL, 0x7fffffffffffffffULL, ~0ULL}) {
    for (const std::uint32_t cookie : {0U, 1U, ~0U}) {
      const FileId id{9, key, cookie};
      CHECK(*rde::parse_file_id(rde::format_file_id(id)) == id);
    }
  }
}

TEST_CASE("what is not a file id is refused and quoted") {
  for (const std::string text : {"",
                                 "3",
                                 "3,",
                                 ",01637037d6",
                                 "3,637037d6",
                                 "3,01637037d60163703701637037d6",
                                 "x,01637037d6",
                                 "-3,01637037d6",
                                 "+3,01637037d6",
                                 "4294967296,01637037d6",
                                 "3,0163 037d6",
                                 "3,0x1637037d6",
                                 "3,01637037dg",
                                 "3,-1637037d6",
                                 "3,01637037d6_",
                                 "3,01637037d6_x",
                                 "3,01637037d6_-1",
                                 "3,01637037d6_18446744073709551616",
                                 "3,ffffffffffffffff00000000_1",
                                 "3,01637037d6,1",
                                 " 3,01637037d6",
                                 "3,01637037d6 "}) {
    const auto id = rde::parse_file_id(text);
    REQUIRE_FALSE(id);
    CHECK(id.error().status == rde::Status::invalid_file_id);
    CHECK(id.error().text.find("'" + text + "'") != std::string::npos);
  }
}

TEST_CASE("a very long text is refused without being quoted whole") {
  const auto id = rde::parse_file_id("3," + std::string(1 << 20, '0'));
  REQUIRE_FALSE(id);
  CHECK(id.error().text.size() < 300);
}
