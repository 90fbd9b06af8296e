// Records of a .dat file. The source is seaweedfs' weed/storage/needle; all numbers are big-endian.
//
//   auto needle = rde::parse_needle(3, record_bytes);
//   if (needle && rde::crc_matches(needle->meta.crc, rde::crc32c(needle->data))) use(needle->data);
//
//   cookie 4 · id 8 · size 4 │ data_size 4 · data · flags 1 · [name] · [mime] · [last_modified] · [ttl] · [pairs] │
//   └────── header ────────┘ └─────────────── body: `size` bytes (version 1: the data alone) ───────────────────┘
//   crc 4 · (version 3) append_at_ns 8 · padding 1 to 8
//
// The part behind the data, up to the padding, is called the tail here. Pure functions, any thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "seaweed/ttl.h"

namespace rde {

constexpr std::uint8_t kNeedleGzip = 0x01;
constexpr std::uint8_t kNeedleName = 0x02;
constexpr std::uint8_t kNeedleMime = 0x04;
constexpr std::uint8_t kNeedleLastModified = 0x08;
constexpr std::uint8_t kNeedleTtl = 0x10;
constexpr std::uint8_t kNeedlePairs = 0x20;
constexpr std::uint8_t kNeedleManifest = 0x80;

struct NeedleHeader {
  static constexpr std::size_t kBytes = 16;

  std::uint32_t cookie = 0;
  std::uint64_t id = 0;
  std::int32_t size = 0;  // of the body
};

struct NeedleMeta {
  std::uint8_t flags = 0;
  std::uint32_t crc = 0;            // as stored: see crc_matches
  std::uint64_t last_modified = 0;  // seconds since 1970; 0 = unknown
  std::uint64_t append_at_ns = 0;   // since 1970; 0 = unknown
  Ttl ttl;
  std::string_view name;  // these point into the bytes that were parsed
  std::string_view mime;
  std::string_view pairs;

  // When the needle expires, in nanoseconds since 1970; 0 = never. `volume_ttl` serves where it has no
  // time to live of its own. It counts from append_at_ns, or where that is unknown from last_modified.
  [[nodiscard]] std::uint64_t expires_at_ns(Ttl volume_ttl) const;
};

struct Needle {
  NeedleHeader header;
  NeedleMeta meta;
  std::span<const std::byte> data;
};

// Where the data starts in its record.
constexpr std::size_t needle_data_offset(unsigned version) { return version == 1 ? 16 : 20; }
// Bytes behind the body, without the padding.
constexpr std::size_t needle_trailer_size(unsigned version) { return version == 3 ? 12 : 4; }
// Bytes between data and trailer: flags, name, mime, last_modified, ttl and pairs, each as long as it can be.
constexpr std::size_t kMaxNeedleMeta = 1 + 256 + 256 + 5 + 2 + 2 + 65'535;
constexpr std::size_t kMaxNeedleTail = kMaxNeedleMeta + 12;

// Bytes from the start of a record to its padding; `size` is not negative.
constexpr std::uint64_t needle_record_size(unsigned version, std::int32_t size) {
  return NeedleHeader::kBytes + static_cast<std::uint64_t>(size) + needle_trailer_size(version);
}

// The first 16 bytes of a record; `bytes` has that many.
NeedleHeader parse_needle_header(std::span<const std::byte> bytes);

// Bytes of data in a record whose body has `size` bytes, from the first 20 bytes of the record (version 1: 16).
// Errors (volume_corrupt): a size that the body cannot have.
Result<std::uint32_t> parse_needle_data_size(unsigned version, std::int32_t size, std::span<const std::byte> bytes);

// Bytes of the tail, for a data size that parse_needle_data_size has answered.
constexpr std::size_t needle_tail_size(unsigned version, std::int32_t size, std::uint32_t data_size) {
  const std::size_t before = needle_data_offset(version) - NeedleHeader::kBytes + data_size;
  return static_cast<std::size_t>(size) - before + needle_trailer_size(version);
}

// The whole tail and nothing else; `version` is 1 to 3. Errors (volume_corrupt) name the field that does not fit.
Result<NeedleMeta> parse_needle_tail(unsigned version, std::span<const std::byte> tail);

// A record in memory, with or without its padding; `version` is 1 to 3. Errors (volume_corrupt).
Result<Needle> parse_needle(unsigned version, std::span<const std::byte> record);

// Does the CRC32C of the data agree with the stored one? Old servers stored it transformed.
constexpr bool crc_matches(std::uint32_t stored, std::uint32_t computed) {
  return stored == computed || stored == std::rotr(computed, 15) + 0xA282'EAD8U;
}

}  // namespace rde
