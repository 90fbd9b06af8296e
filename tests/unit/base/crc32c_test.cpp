#include "base/crc32c.h"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

TEST_CASE("crc32c gives the check value of the Castagnoli polynomial") {
  CHECK(rde::crc32c(bytes_of("123456789")) == 0xE3069283U);
}

TEST_CASE("crc32c of nothing is zero") { CHECK(rde::crc32c({}) == 0U); }

TEST_CASE("crc32c goes on from an earlier part") {
  const std::string_view text = "the bytes of one object";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    CHECK(rde::crc32c(bytes_of(text.substr(cut)), rde::crc32c(bytes_of(text.substr(0, cut)))) ==
          rde::crc32c(bytes_of(text)));
  }
}

TEST_CASE("crc32c_combine joins parts that were checked apart, whatever their lengths") {
  std::vector<std::byte> bytes(70'001);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 131 >> 3);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t cut : {0UL, 1UL, 7UL, 4096UL, 65'536UL, 70'000UL, 70'001UL}) {
    const auto first = rde::crc32c(all.first(cut));
    const auto second = rde::crc32c(all.subspan(cut));
    CHECK(rde::crc32c_combine(first, second, all.size() - cut) == rde::crc32c(all));
  }
}
