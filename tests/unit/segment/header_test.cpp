#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/crc32c.h"
#include "parts.h"
#include "segment/plan.h"

namespace rde::test {
namespace {

struct Field {
  const char* name;
  std::size_t offset;
  std::size_t size;
};
#define RDE_FIELD(field) \
  Field { #field, offsetof(rde_segment_header, field), sizeof(rde_segment_header::field) }
const std::vector<Field> kFields{
    RDE_FIELD(magic),
    RDE_FIELD(endian_mark),
    RDE_FIELD(abi_major),
    RDE_FIELD(abi_minor),
    RDE_FIELD(header_size),
    RDE_FIELD(page_size),
    RDE_FIELD(layout_hash),
    RDE_FIELD(total_size),
    RDE_FIELD(required_features),
    RDE_FIELD(epoch),
    RDE_FIELD(optional_features),
    RDE_FIELD(client_number),
    RDE_FIELD(doorbells_offset),
    RDE_FIELD(engine_page_offset),
    RDE_FIELD(client_page_offset),
    RDE_FIELD(channels_offset),
    RDE_FIELD(channel_stride),
    RDE_FIELD(counters_offset),
    RDE_FIELD(recorder_offset),
    RDE_FIELD(arena_offset),
    RDE_FIELD(arena_size),
    RDE_FIELD(shard_count),
    RDE_FIELD(channel_count),
    RDE_FIELD(depth),
    RDE_FIELD(completion_depth),
    RDE_FIELD(counter_count),
    RDE_FIELD(recorder_events),
    RDE_FIELD(engine_pid),
    RDE_FIELD(client_pid),
    RDE_FIELD(header_crc),
    RDE_FIELD(ready),
};
#undef RDE_FIELD
// What a reader need not trust: names and numbers for people.
const std::set<std::string> kHarmless{"abi_minor", "optional_features", "epoch", "engine_pid", "client_pid"};

void seal(rde_segment_header& header) {
  header.header_crc = crc32c({reinterpret_cast<const std::byte*>(&header), offsetof(rde_segment_header, header_crc)});
}

rde_segment_header good_header() {
  auto header = *plan_segment({.total_size = 4 << 20, .channels = 3, .depth = 8, .shards = 2, .client_number = 5});
  header.magic = RDE_MAGIC;
  header.endian_mark = RDE_ENDIAN_MARK;
  header.abi_major = RDE_ABI_MAJOR;
  header.abi_minor = 1;
  header.header_size = sizeof header;
  header.layout_hash = RDE_LAYOUT_HASH;
  header.epoch = 42;
  header.optional_features = 6;
  header.engine_pid = 100;
  header.client_pid = 200;
  header.ready = RDE_READY;
  seal(header);
  return header;
}

std::uint64_t get(const rde_segment_header& header, const Field& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(&header) + field.offset, field.size);
  return value;
}

void set(rde_segment_header& header, const Field& field, std::uint64_t value) {
  std::memcpy(reinterpret_cast<char*>(&header) + field.offset, &value, field.size);
}

}  // namespace

TEST_CASE("a good header is accepted") {
  const auto header = good_header();
  const auto checked = check_header(header, header.total_size);
  CHECK_MESSAGE(checked, checked.error().text);
}

TEST_CASE("every field that is one off, zero or all ones is refused, or does no harm") {
  for (const auto& field : kFields) {
    for (const bool with_crc : {false, true}) {
      const std::uint64_t value = get(good_header(), field);
      for (const std::uint64_t other : {value - 1, value + 1, std::uint64_t{0}, ~std::uint64_t{0}}) {
        auto header = good_header();
        set(header, field, other);
        if (get(header, field) == value) continue;
        if (with_crc && std::string(field.name) != "header_crc") seal(header);
        CAPTURE(field.name);
        CAPTURE(other);
        CAPTURE(with_crc);
        const auto checked = check_header(header, good_header().total_size);
        CHECK(static_cast<bool>(checked) == (with_crc && kHarmless.contains(field.name)));
        if (!checked) CHECK_FALSE(checked.error().text.empty());
      }
    }
  }
}

TEST_CASE("every reserved byte must be zero") {
  for (std::size_t i = 0; i < sizeof good_header().reserved; ++i) {
    auto header = good_header();
    header.reserved[i] = 1;
    seal(header);
    const auto checked = check_header(header, header.total_size);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().text.find("reserved") != std::string::npos);
  }
}

TEST_CASE("a header of another version names both") {
  auto header = good_header();
  header.abi_major = RDE_ABI_MAJOR + 1;
  header.abi_minor = 9;
  seal(header);
  const auto checked = check_header(header, header.total_size);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().status == Status::version_mismatch);
  CHECK(checked.error().text.find("ABI 2.9") != std::string::npos);
  CHECK(checked.error().text.find("1.0") != std::string::npos);
}

TEST_CASE("a header without its ready word is not ready, whatever else it says") {
  auto header = good_header();
  header.ready = 0;
  const auto checked = check_header(header, header.total_size);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().status == Status::segment_not_ready);
  const rde_segment_header empty{};
  CHECK(check_header(empty, 4096).error().status == Status::segment_not_ready);
}

TEST_CASE("a header cannot claim pages that are larger than the mapping's last one") {
  // Planned for 4 MiB on hugepages, in a file of 2 MiB and one small page.
  auto header = good_header();
  const std::uint64_t mapped = (2 << 20) + 4096;
  header.page_size = 2 << 20;
  header.total_size = mapped;
  seal(header);
  const auto checked = check_header(header, mapped);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("total_size") != std::string::npos);
}

TEST_CASE("a header is for the mapping that it lies in") {
  const auto header = good_header();
  CHECK_FALSE(check_header(header, header.total_size - 1));
  CHECK_FALSE(check_header(header, header.total_size + 4096));
  CHECK_FALSE(check_header(header, 0));
}

TEST_CASE("random headers are refused or keep inside their segment") {
  std::mt19937_64 random(3);
  unsigned accepted = 0;
  for (unsigned turn = 0; turn < 200'000; ++turn) {
    auto header = good_header();
    if (turn % 4 == 0) {
      for (std::size_t i = 0; i < sizeof header; i += 8) {
        const std::uint64_t word = random();
        std::memcpy(reinterpret_cast<char*>(&header) + i, &word, 8);
      }
    } else {
      for (std::uint64_t i = random() % 4 + 1; i > 0; --i) {
        const auto& field = kFields[random() % kFields.size()];
        const std::uint64_t value = get(header, field);
        const std::uint64_t choices[] = {random(), random() % 4097, value << (random() % 8),
                                         value ^ (random() % 64 + 1), std::uint64_t{1} << (random() % 64)};
        set(header, field, choices[random() % 5]);
      }
      header.magic = RDE_MAGIC;
      header.ready = RDE_READY;
      if (turn % 4 != 1) seal(header);
    }
    const std::uint64_t mapped = random() % 2 == 0 ? header.total_size : good_header().total_size;
    if (!check_header(header, mapped)) continue;
    ++accepted;
    REQUIRE(fault_of_parts(header) == "");
    REQUIRE(header.total_size == mapped);
  }
  CHECK(accepted > 0);
}

}  // namespace rde::test
