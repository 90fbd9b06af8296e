#include "seaweed/needle.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "base/crc32c.h"
#include "fixtures.h"
#include "seaweed/index_entry.h"
#include "volume_writer.h"

using rde::test::Bytes;

namespace {

// A record with every field, without its padding.
Bytes full_record(unsigned version) {
  auto record =
      rde::test::make_record(version, {.id = 0x0102030405060708,
                                       .data = "hello",
                                       .flags = rde::kNeedleName | rde::kNeedleMime | rde::kNeedleLastModified |
                                                rde::kNeedleTtl | rde::kNeedlePairs | rde::kNeedleManifest,
                                       .name = "cat",
                                       .mime = "image/png",
                                       .ttl = {7, rde::Ttl::kHour},
                                       .pairs = "{}"});
  record.resize(rde::needle_record_size(version, rde::parse_needle_header(record).size));
  return record;
}

Bytes meta_volume() { return rde::test::read_file(rde::test::data_folder() / "volumes/meta_2.dat"); }

std::map<std::uint64_t, rde::IndexEntry> meta_index() {
  std::map<std::uint64_t, rde::IndexEntry> entries;
  const auto bytes = rde::test::read_file(rde::test::data_folder() / "volumes/meta_2.idx");
  for (std::size_t at = 0; at + 16 <= bytes.size(); at += 16) {
    const auto entry = rde::parse_index_entry(std::span(bytes).subspan(at), 4);
    entries[entry.key] = entry;
  }
  return entries;
}

}  // namespace

TEST_CASE("a record of each version is read") {
  for (const unsigned version : {1U, 2U, 3U}) {
    const auto record = full_record(version);
    CHECK(rde::needle_record_size(version, rde::parse_needle_header(record).size) == record.size());
    const auto needle = rde::parse_needle(version, record);
    REQUIRE(needle);
    CHECK(needle->header.cookie == 0x637037d6);
    CHECK(needle->header.id == 0x0102030405060708);
    CHECK(std::string_view(reinterpret_cast<const char*>(needle->data.data()), needle->data.size()) == "hello");
    CHECK(rde::crc_matches(needle->meta.crc, rde::crc32c(needle->data)));
    CHECK(needle->meta.append_at_ns == (version == 3 ? rde::test::kAppendedAt : 0));
    if (version == 1) continue;
    CHECK((needle->meta.flags & rde::kNeedleManifest) != 0);
    CHECK(needle->meta.name == "cat");
    CHECK(needle->meta.mime == "image/png");
    CHECK(needle->meta.last_modified == 1'500'000'000);
    CHECK(needle->meta.ttl == rde::Ttl{7, rde::Ttl::kHour});
    CHECK(needle->meta.pairs == "{}");
  }
}

TEST_CASE("a checksum of an old server is valid too") {
  const std::uint32_t crc = rde::test::crc_of("hello");
  CHECK(rde::crc_matches((crc >> 15 | crc << 17) + 0xa282ead8U, crc));
  CHECK_FALSE(rde::crc_matches(crc + 1, crc));
}

TEST_CASE("a record cut at any byte is refused and not read past its end") {
  for (const unsigned version : {1U, 2U, 3U}) {
    const auto record = full_record(version);
    for (std::size_t size = 0; size < record.size(); ++size) {
      const Bytes cut(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size));  // so that tools see its end
      CHECK(rde::parse_needle(version, cut).error().status == rde::Status::volume_corrupt);
    }
  }
}

TEST_CASE("a record with any one byte changed is refused, or ends inside its bytes") {
  for (const unsigned version : {1U, 2U, 3U}) {
    const auto good = full_record(version);
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (int value = 0; value < 256; ++value) {
        Bytes record = good;
        record[at] = static_cast<std::byte>(value);
        const auto needle = rde::parse_needle(version, record);
        if (!needle) continue;
        CHECK(needle->data.data() + needle->data.size() <= record.data() + record.size());
      }
    }
  }
}

TEST_CASE("a field that does not fit the body is named") {
  Bytes record = full_record(3);
  record[16 + 4 + 5 + 1] = std::byte{200};  // name_size
  const auto needle = rde::parse_needle(3, record);
  REQUIRE_FALSE(needle);
  CHECK(needle.error().text.find("name") != std::string::npos);
}

TEST_CASE("a data size that leaves more metadata than there can be is refused") {
  Bytes head(20);
  CHECK_FALSE(rde::parse_needle_data_size(3, 0x7fffffff, head));
  CHECK_FALSE(rde::parse_needle_data_size(3, 4, head));
  CHECK_FALSE(rde::parse_needle_data_size(3, -1, head));
  CHECK(*rde::parse_needle_data_size(3, 5, head) == 0);
  head[16] = std::byte{0xff};
  CHECK_FALSE(rde::parse_needle_data_size(3, 0x7fffffff, head));
}

TEST_CASE("an empty record has no body") {
  const auto record = rde::test::make_record(3, {.data = ""});
  const auto needle = rde::parse_needle(3, record);
  REQUIRE(needle);
  CHECK(needle->data.empty());
  CHECK(needle->meta.append_at_ns == rde::test::kAppendedAt);
}

TEST_CASE("expiry takes the needle's own time to live before the volume's") {
  rde::NeedleMeta meta;
  meta.append_at_ns = 1'000;
  CHECK(meta.expires_at_ns({}) == 0);
  CHECK(meta.expires_at_ns({1, rde::Ttl::kMinute}) == 60'000'001'000);
  meta.flags = rde::kNeedleTtl;
  meta.ttl = {1, rde::Ttl::kHour};
  CHECK(meta.expires_at_ns({1, rde::Ttl::kMinute}) == 3'600'000'001'000);
}

TEST_CASE("expiry without the time of writing falls back to the date of the object") {
  rde::NeedleMeta meta;
  meta.flags = rde::kNeedleTtl;
  meta.ttl = {1, rde::Ttl::kMinute};
  CHECK(meta.expires_at_ns({}) == 0);
  meta.last_modified = 1;
  CHECK(meta.expires_at_ns({}) == 61'000'000'000);
}

TEST_CASE("the metadata of a real volume is read") {
  const auto dat = meta_volume();
  const auto index = meta_index();
  const auto needle_of = [&](std::uint64_t key) {
    return *rde::parse_needle(3, std::span(dat).subspan(index.at(key).offset));
  };
  CHECK(needle_of(1).meta.name == "cat.png");
  CHECK(needle_of(1).meta.mime == "image/png");
  CHECK(needle_of(2).meta.name.size() == 255);
  CHECK_FALSE(needle_of(5).meta.pairs.empty());
  CHECK(needle_of(6).meta.last_modified == 1'500'000'000);
  CHECK((needle_of(7).meta.flags & rde::kNeedleGzip) != 0);
  CHECK((needle_of(11).meta.flags & rde::kNeedleManifest) != 0);
}

TEST_CASE("every record of a real volume is whole and right") {
  const auto dat = meta_volume();
  std::size_t records = 0;
  for (const auto& [key, entry] : meta_index()) {
    const auto needle = rde::parse_needle(3, std::span(dat).subspan(entry.offset));
    REQUIRE(needle);
    CHECK(needle->header.id == key);
    CHECK(needle->header.size == entry.size);
    CHECK(rde::crc_matches(needle->meta.crc, rde::crc32c(needle->data)));
    ++records;
  }
  CHECK(records == 11);
}
