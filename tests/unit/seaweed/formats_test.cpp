#include <doctest/doctest.h>

#include <array>

#include "seaweed/index_entry.h"
#include "seaweed/superblock.h"
#include "seaweed/ttl.h"
#include "seaweed/volume_info.h"

namespace {

template <class... T>
std::array<std::byte, sizeof...(T)> bytes_of(T... values) {
  return {static_cast<std::byte>(values)...};
}

}  // namespace

TEST_CASE("an index entry with 4-byte offsets is read") {
  const auto raw = bytes_of(0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3, 0, 0, 1, 0);
  CHECK(rde::parse_index_entry(raw, 4) == rde::IndexEntry{0x102, 24, 256});
}

TEST_CASE("the fifth offset byte stands behind the four low ones and is the highest") {
  const auto raw = bytes_of(0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 3, 1, 0, 0, 0, 9);
  CHECK(rde::parse_index_entry(raw, 5) == rde::IndexEntry{7, ((1ULL << 32) + 3) * 8, 9});
}

TEST_CASE("a negative size and an offset of 0 are deletions, an empty object is not") {
  CHECK(rde::IndexEntry{1, 8, -1}.is_deleted());
  CHECK(rde::IndexEntry{1, 8, -4096}.is_deleted());
  CHECK(rde::IndexEntry{1, 0, 4}.is_deleted());
  CHECK_FALSE(rde::IndexEntry{1, 8, 0}.is_deleted());
}

TEST_CASE("a superblock is read") {
  const auto block = rde::parse_superblock(bytes_of(3, 1, 5, 2, 0, 9, 0, 4));
  REQUIRE(block);
  CHECK(block->version == 3);
  CHECK(block->ttl == rde::Ttl{5, rde::Ttl::kHour});
  CHECK(block->compaction_revision == 9);
  CHECK(block->extra_size == 4);
}

TEST_CASE("a short superblock and an unknown version are refused") {
  CHECK(rde::parse_superblock(bytes_of(3, 0, 0, 0, 0, 0, 0)).error().status == rde::Status::volume_corrupt);
  for (const int version : {0, 4, 255}) {
    const auto block = rde::parse_superblock(bytes_of(version, 0, 0, 0, 0, 0, 0, 0));
    REQUIRE_FALSE(block);
    CHECK(block.error().text.find(std::to_string(version)) != std::string::npos);
  }
}

TEST_CASE("time to live counts in the units of SeaweedFS") {
  using rde::Ttl;
  CHECK(Ttl{3, Ttl::kMinute}.seconds() == 180);
  CHECK(Ttl{2, Ttl::kHour}.seconds() == 7'200);
  CHECK(Ttl{1, Ttl::kDay}.seconds() == 86'400);
  CHECK(Ttl{1, Ttl::kWeek}.seconds() == 604'800);
  CHECK(Ttl{1, Ttl::kMonth}.seconds() == 2'592'000);
  CHECK(Ttl{255, Ttl::kYear}.seconds() == 255ULL * 31'536'000);
  CHECK(Ttl{5, 0}.seconds() == 0);
  CHECK(Ttl{5, 7}.seconds() == 0);
}

TEST_CASE("a time to live ends that long after the writing") {
  constexpr rde::Ttl kMinute{1, rde::Ttl::kMinute};
  CHECK(kMinute.end_of(1'000) == 60'000'001'000);
  CHECK(rde::Ttl{}.end_of(1'000) == 0);
}

TEST_CASE("a time to live that ends beyond all numbers never ends") {
  CHECK(rde::Ttl{1, rde::Ttl::kMinute}.end_of(~0ULL) == 0);
}

TEST_CASE("a vif as the server writes it is read") {
  const auto info = rde::parse_volume_info(
      R"({"files": [], "version": 3, "bytesOffset": "5", "datFileSize": "0", "expireAtSec": "1796010182"})");
  REQUIRE(info);
  CHECK(info->version == 3);
  CHECK(info->offset_bytes == 5);
  CHECK_FALSE(info->is_remote);
}

TEST_CASE("a vif that names files says that the volume is remote") {
  CHECK(rde::parse_volume_info(R"({"files": [{"backendType": "s3", "key": "x"}]})")->is_remote);
}

TEST_CASE("an empty vif, and absent or null fields, leave the defaults") {
  for (const char* text : {"", "{}", R"({"files": null, "version": null, "bytesOffset": 0})"}) {
    const auto info = rde::parse_volume_info(text);
    REQUIRE(info);
    CHECK(info->offset_bytes == 4);
    CHECK(info->version == 0);
    CHECK_FALSE(info->is_remote);
  }
}

TEST_CASE("a vif that does not hold together is refused") {
  for (const std::string text : {"[", "[]", "7", "{", R"({"version": 4})", R"({"version": -1})", R"({"version": 1.5})",
                                 R"({"version": []})", R"({"bytesOffset": 6})", R"({"version": "3x"})",
                                 R"({"version": "99999999999999999999"})", R"({"files": "x"})", "\xff\xfe"}) {
    const auto info = rde::parse_volume_info(text);
    REQUIRE_FALSE(info);
    CHECK(info.error().status == rde::Status::volume_corrupt);
  }
  CHECK_FALSE(rde::parse_volume_info(std::string(rde::kMaxVolumeInfo + 1, ' ')));
}

TEST_CASE("deep nesting in a vif ends in a refusal, not in a stack overflow") {
  CHECK_FALSE(rde::parse_volume_info(std::string(500'000, '[')));
}
