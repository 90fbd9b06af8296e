// Go and C++ on the same golden bytes: each writes every field by its name and reads every field by its name. The Go
// half is bindings/go/internal/layout/fields_test.go.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "fields.generated.h"

namespace {

using Bytes = std::vector<std::byte>;

std::map<std::string, Bytes> golden_bytes() {
  const char* path = std::getenv("RDE_GOLDEN_FIELDS");
  REQUIRE_MESSAGE(path != nullptr, "RDE_GOLDEN_FIELDS names shm_layout/golden/fields.txt");
  std::map<std::string, Bytes> structs;
  std::ifstream file(path);
  for (std::string name, digits; file >> name >> digits;) {
    Bytes& bytes = structs[name];
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  REQUIRE_FALSE(structs.empty());
  return structs;
}

// The number that little-endian bytes make; a field of an array is one after the other.
template <class Number>
Number number_at(const std::byte* bytes) {
  std::make_unsigned_t<Number> number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    number =
        static_cast<std::make_unsigned_t<Number>>((std::uint64_t{number} << 8) | std::to_integer<unsigned>(bytes[i]));
  return static_cast<Number>(number);
}

// Calls `each` for the numbers of a field, with their offsets in the struct.
template <class Field, class Each>
void numbers_of(const std::byte* start, Field& field, Each each) {
  if constexpr (std::is_array_v<Field>) {
    for (auto& element : field) numbers_of(start, element, each);
  } else {
    each(static_cast<std::size_t>(reinterpret_cast<std::byte*>(&field) - start), field);
  }
}

}  // namespace

TEST_CASE("every field written by its name makes the golden bytes, and read by its name has their numbers") {
  const auto golden = golden_bytes();
  std::size_t seen = 0;
  for_each_struct([&](const std::string& name, std::span<std::byte> bytes, auto each_field) {
    INFO(name);
    const auto found = golden.find(name);
    REQUIRE(found != golden.end());
    const Bytes& want = found->second;
    REQUIRE(bytes.size() == want.size());
    each_field([&](const char*, auto& field) {
      numbers_of(bytes.data(), field, [&](std::size_t offset, auto& number) {
        number = number_at<std::remove_reference_t<decltype(number)>>(want.data() + offset);
      });
    });
    CHECK(std::memcmp(bytes.data(), want.data(), want.size()) == 0);  // no byte without a field
    std::memcpy(bytes.data(), want.data(), want.size());
    each_field([&](const char* field_name, auto& field) {
      INFO(field_name);
      numbers_of(bytes.data(), field, [&](std::size_t offset, auto& number) {
        CHECK(number == number_at<std::remove_reference_t<decltype(number)>>(want.data() + offset));
      });
    });
    ++seen;
  });
  CHECK(seen == golden.size());
}
