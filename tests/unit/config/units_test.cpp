#include "config/units.h"

#include <doctest/doctest.h>

using namespace rde;

TEST_CASE("sizes are read with and without their units") {
  struct Row {
    const char* text;
    std::uint64_t bytes;
  };
  for (const auto& row :
       {Row{"0", 0}, Row{"4096", 4096}, Row{"4096B", 4096}, Row{"1K", 1024}, Row{"1k", 1024}, Row{"1KB", 1024},
        Row{"1KiB", 1024}, Row{"64MiB", 64ULL << 20}, Row{"2 GB", 2ULL << 30}, Row{"8T", 8ULL << 40},
        Row{"18446744073709551615", ~0ULL}, Row{"16777215T", 16777215ULL << 40}}) {
    CAPTURE(row.text);
    const auto size = parse_size(row.text);
    REQUIRE(size);
    CHECK(*size == row.bytes);
  }
}

TEST_CASE("what is no size is refused and quoted") {
  for (const char* text : {"", " ", "M", "-1", "+1", "1.5G", "1X", "1KIB", "1Ki", "1iB", "1 K B", "1MiBs", "0x10",
                           "1\t", "18446744073709551616", "16777216T", "18446744073709551615K", "1\xC3\xA9"}) {
    CAPTURE(text);
    const auto size = parse_size(text);
    REQUIRE_FALSE(size);
    CHECK(size.error().text.find("'" + std::string(text) + "'") != std::string::npos);
    CHECK(size.error().text.find("64MiB") != std::string::npos);
  }
}

TEST_CASE("lists of processors are read in their order, ranges too") {
  CHECK(*parse_cores("0") == std::vector{0});
  CHECK(*parse_cores("2,4-6") == std::vector{2, 4, 5, 6});
  CHECK(*parse_cores("7,1") == std::vector{7, 1});
  CHECK(parse_cores("0-1023")->size() == 1024);
}

TEST_CASE("what is no list of processors is refused and quoted") {
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "3-1", "1-", "-1", "1,1", "1-3,2", "1024", "0-1024", "a", "1 ",
                           "1;2", "18446744073709551616"}) {
    CAPTURE(text);
    const auto cores = parse_cores(text);
    REQUIRE_FALSE(cores);
    CHECK(cores.error().text.find("'" + std::string(text) + "'") != std::string::npos);
  }
}
