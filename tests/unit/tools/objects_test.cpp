#include "load/objects.h"

#include <doctest/doctest.h>

#include <random>

using namespace rde;
using namespace rde::tools;

namespace {
const std::string kHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";  // of no bytes
}

TEST_CASE("a line names an object, its size and its hash") {
  const auto objects = parse_objects("3,01637037d6 0 " + kHash + "\n");
  REQUIRE_MESSAGE(objects, objects.error().text);
  REQUIRE(objects->size() == 1);
  CHECK(objects->front().id == FileId{3, 1, 0x637037d6});
  CHECK(objects->front().size == 0);
  CHECK(hex_of(objects->front().sha256) == kHash);
  CHECK(objects->front().sha256 == Sha256().finish());
}

TEST_CASE("blank lines, comments, tabs and a missing last line end are fine") {
  const auto objects =
      parse_objects("# a comment\n\n  \t\r\n3,01637037d6\t7  " + kHash + "\r\n 4,01637037d6 8 " + kHash);
  REQUIRE_MESSAGE(objects, objects.error().text);
  CHECK(objects->size() == 2);
}

TEST_CASE("a wrong line is refused and its number is told") {
  const std::string id = "3,01637037d6 ";
  const std::vector<std::string> lines{
      id,
      id + "5",
      id + "5 " + kHash + " more",
      id + "x " + kHash,
      id + "-1 " + kHash,
      id + "18446744073709551616 " + kHash,
      "3-01637037d6 5 " + kHash,
      id + "5 " + kHash.substr(1),
      id + "5 " + kHash + "0",
      id + "5 g" + kHash.substr(1),
  };
  for (const auto& line : lines) {
    CAPTURE(line);
    const auto objects = parse_objects("# first\n" + line + "\n");
    REQUIRE_FALSE(objects);
    CHECK(objects.error().text.find("line 2: ") == 0);
  }
}

TEST_CASE("a file without an object, or that is not there, is refused") {
  CHECK_FALSE(parse_objects(""));
  CHECK_FALSE(parse_objects("# nothing\n"));
  const auto missing = read_objects("/nonexistent/objects.txt");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("/nonexistent/objects.txt") != std::string::npos);
}

TEST_CASE("random text is refused or read, and never over-read") {
  std::mt19937 random(11);
  const std::string alphabet = "0123456789abcdef ,\n\t#x-" + std::string(1, '\0');
  for (int i = 0; i < 2'000; ++i) {
    std::string text(random() % 200, '\0');
    for (auto& c : text) c = alphabet[random() % alphabet.size()];
    const auto objects = parse_objects(text);
    CHECK((objects || !objects.error().text.empty()));
  }
}
