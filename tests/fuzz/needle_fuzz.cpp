// Bytes of any kind for everything that reads SeaweedFS's files.
//
// As a normal test it mutates real files a bounded number of times (RDE_FUZZ_RUNS, 30,000 by default), the same
// ones in every run. With libFuzzer, without end:
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -DRDE_LIBFUZZER
//     -Ilib -Ishm_layout/include -Idaemon tests/fuzz/needle_fuzz.cpp lib/seaweed/*.cpp lib/base/status.cpp
//     daemon/storage/volume_files.cpp -o needle_fuzz && ./needle_fuzz
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>

#include "seaweed/file_id.h"
#include "seaweed/needle.h"
#include "seaweed/needle_index.h"
#include "seaweed/superblock.h"
#include "seaweed/volume_info.h"
#include "storage/volume_files.h"

#ifndef RDE_LIBFUZZER
#include "../unit/seaweed/fixtures.h"
#endif

namespace {

using Span = std::span<const std::byte>;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "needle_fuzz: %s\n", what);
  std::abort();
}

bool lies_in(const void* begin, std::size_t size, Span bytes) {
  if (size == 0) return true;
  const auto* first = static_cast<const std::byte*>(begin);
  return first >= bytes.data() && first + size <= bytes.data() + bytes.size();
}

void read_records(Span bytes) {
  for (const unsigned version : {1U, 2U, 3U}) {
    if (const auto needle = rde::parse_needle(version, bytes)) {
      require(lies_in(needle->data.data(), needle->data.size(), bytes), "data outside of the record");
      for (const auto text : {needle->meta.name, needle->meta.mime, needle->meta.pairs}) {
        require(lies_in(text.data(), text.size(), bytes), "metadata outside of the record");
      }
      static_cast<void>(needle->meta.expires_at_ns(needle->meta.ttl));
    }
    static_cast<void>(rde::parse_needle_tail(version, bytes));
    if (bytes.size() >= 20) {
      const std::int32_t size = rde::parse_needle_header(bytes).size;
      const auto data_size = rde::parse_needle_data_size(version, size, bytes);
      if (data_size) {
        require(rde::needle_tail_size(version, size, *data_size) <= rde::kMaxNeedleTail,
                "a tail longer than the longest");
      }
    }
  }
}

void read_index(Span bytes) {
  for (const unsigned offset_bytes : {4U, 5U}) {
    rde::NeedleIndex index(offset_bytes);
    const std::size_t size = rde::index_entry_size(offset_bytes);
    for (Span rest = bytes; rest.size() >= size; rest = rest.subspan(size)) {
      const auto entry = rde::parse_index_entry(rest, offset_bytes);
      index.apply(entry);
      const auto found = index.find(entry.key);
      require(found.has_value() != entry.is_deleted(), "a deletion that is found, or an entry that is not");
      if (found) require(*found == entry, "another entry than was put in");
    }
  }
}

void read_text(Span bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto id = rde::parse_file_id(text)) {
    const auto again = rde::parse_file_id(rde::format_file_id(*id));
    require(again && *again == *id, "a file id that does not read back");
  }
  static_cast<void>(rde::parse_volume_info(text));
  static_cast<void>(rde::volume_id_of(text));
}

void read_all(Span bytes) {
  static_cast<void>(rde::parse_superblock(bytes));
  read_records(bytes);
  read_index(bytes);
  read_text(bytes);
}

}  // namespace

#ifdef RDE_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_all(std::as_bytes(std::span(data, size)));
  return 0;
}
#else
namespace {

// Real records, indexes and vifs, and texts.
std::vector<rde::test::Bytes> seeds() {
  std::vector<rde::test::Bytes> seeds;
  const auto folder = rde::test::data_folder() / "volumes";
  for (const char* name : {"meta_2", "ttl_4", "brief_5"}) {
    const auto dat = rde::test::read_file(folder / (std::string(name) + ".dat"));
    const auto idx = rde::test::read_file(folder / (std::string(name) + ".idx"));
    seeds.push_back(idx);
    seeds.push_back(rde::test::read_file(folder / (std::string(name) + ".vif")));
    for (std::size_t at = 0; at + 16 <= idx.size(); at += 16) {
      const auto entry = rde::parse_index_entry(std::span(idx).subspan(at), 4);
      if (entry.size > 8'192) continue;
      const auto record = std::span(dat).subspan(entry.offset, rde::needle_record_size(3, entry.size));
      seeds.emplace_back(record.begin(), record.end());
    }
  }
  for (const std::string_view text : {"3,01637037d6", "4294967295,ffffffffffffffffffffffff_1", "pictures_7"}) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

void mutate(rde::test::Bytes& bytes, std::mt19937_64& random) {
  for (std::uint64_t changes = 1 + random() % 6; changes != 0; --changes) {
    if (bytes.empty()) bytes.push_back(static_cast<std::byte>(random()));
    // Near the ends, where the lengths are, as often as anywhere.
    const std::size_t reach = random() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 64);
    const std::size_t at = random() % 2 ? random() % reach : bytes.size() - 1 - random() % reach;
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 5) {
      case 0:
        *place = static_cast<std::byte>(random());
        break;
      case 1:
        *place ^= static_cast<std::byte>(1U << random() % 8);
        break;
      case 2:
        *place = random() % 2 ? std::byte{0xff} : std::byte{0};
        break;
      case 3:
        bytes.resize(at);
        break;
      default:
        bytes.insert(place, static_cast<std::byte>(random()));
    }
  }
}

}  // namespace

int main() {
  const char* asked = std::getenv("RDE_FUZZ_RUNS");
  const std::uint64_t runs = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 30'000;
  const auto all = seeds();
  std::mt19937_64 random(1);
  for (std::uint64_t run = 0; run < runs; ++run) {
    auto bytes = all[random() % all.size()];
    if (run >= all.size()) mutate(bytes, random);
    // A block of exactly that size, so that a sanitizer sees every byte too far.
    const auto exact = std::make_unique<std::byte[]>(bytes.size());
    std::memcpy(exact.get(), bytes.data(), bytes.size());
    read_all({exact.get(), bytes.size()});
  }
  std::printf("needle_fuzz: %llu inputs\n", static_cast<unsigned long long>(runs));
}
#endif
