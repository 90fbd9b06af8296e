// Writes volumes as a server would, for what the real ones in tests/data do not hold.
//
//   VolumeWriter writer;
//   writer.add({.id = 7, .cookie = 1, .data = "hello"});
//   writer.write(folder / "9");   // 9.dat, 9.idx, 9.vif
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/crc32c.h"
#include "fixtures.h"
#include "seaweed/needle.h"

namespace rde::test {

inline void put_number(Bytes& to, std::uint64_t value, unsigned size) {
  for (unsigned i = size; i-- > 0;) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

inline void put_text(Bytes& to, std::string_view text) {
  for (const char c : text) to.push_back(static_cast<std::byte>(c));
}

inline std::uint32_t crc_of(std::string_view text) { return crc32c(std::as_bytes(std::span(text))); }

constexpr std::uint64_t kAppendedAt = 1'700'000'000'000'000'000;

struct WrittenNeedle {
  std::uint64_t id = 1;
  std::uint32_t cookie = 0x637037d6;
  std::string data;
  std::uint8_t flags = 0;
  std::string name;
  std::string mime;
  std::uint64_t last_modified = 1'500'000'000;
  Ttl ttl;
  std::string pairs;
  std::uint64_t append_at_ns = kAppendedAt;
  std::optional<std::uint32_t> crc;  // absent: the right one
};

// With its padding.
inline Bytes make_record(unsigned version, const WrittenNeedle& needle) {
  Bytes body;
  if (version == 1) {
    put_text(body, needle.data);
  } else if (!needle.data.empty()) {
    put_number(body, needle.data.size(), 4);
    put_text(body, needle.data);
    put_number(body, needle.flags, 1);
    if (needle.flags & kNeedleName) put_number(body, needle.name.size(), 1), put_text(body, needle.name);
    if (needle.flags & kNeedleMime) put_number(body, needle.mime.size(), 1), put_text(body, needle.mime);
    if (needle.flags & kNeedleLastModified) put_number(body, needle.last_modified, 5);
    if (needle.flags & kNeedleTtl) put_number(body, needle.ttl.count, 1), put_number(body, needle.ttl.unit, 1);
    if (needle.flags & kNeedlePairs) put_number(body, needle.pairs.size(), 2), put_text(body, needle.pairs);
  }
  Bytes record;
  put_number(record, needle.cookie, 4);
  put_number(record, needle.id, 8);
  put_number(record, body.size(), 4);
  record.insert(record.end(), body.begin(), body.end());
  put_number(record, needle.crc.value_or(crc_of(needle.data)), 4);
  if (version == 3) put_number(record, needle.append_at_ns, 8);
  record.resize(record.size() / 8 * 8 + 8);
  return record;
}

class VolumeWriter {
 public:
  explicit VolumeWriter(unsigned version = 3, unsigned offset_bytes = 4, std::uint16_t revision = 0, Ttl ttl = {})
      : version_(version), offset_bytes_(offset_bytes) {
    put_number(data, version, 1);
    put_number(data, 0, 1);
    put_number(data, ttl.count, 1);
    put_number(data, ttl.unit, 1);
    put_number(data, revision, 2);
    put_number(data, 0, 2);
  }

  // Offset of the record.
  std::uint64_t add(const WrittenNeedle& needle) {
    const std::uint64_t offset = data.size();
    const auto record = make_record(version_, needle);
    data.insert(data.end(), record.begin(), record.end());
    enter(needle.id, offset, parse_needle_header(record).size);
    return offset;
  }

  void remove(std::uint64_t id) {
    const std::uint64_t offset = data.size();
    const auto record = make_record(version_, {.id = id, .data = ""});
    data.insert(data.end(), record.begin(), record.end());
    enter(id, offset, -1);
  }

  void enter(std::uint64_t id, std::uint64_t offset, std::int32_t size) {
    put_number(index, id, 8);
    put_number(index, offset / 8, 4);
    if (offset_bytes_ == 5) put_number(index, offset / 8 >> 32, 1);
    put_number(index, static_cast<std::uint32_t>(size), 4);
  }

  // New files beside the place, then renamed over what is there, the data first.
  void write(const std::filesystem::path& base) const {
    const std::string path = base.string();
    write_file(path + ".vif", info());
    write_file(path + ".cpd", data);
    write_file(path + ".cpx", index);
    std::filesystem::rename(path + ".cpd", path + ".dat");
    std::filesystem::rename(path + ".cpx", path + ".idx");
  }

  [[nodiscard]] Bytes info() const {
    Bytes text;
    put_text(text, R"({"files": [], "version": )" + std::to_string(version_) + R"(, "bytesOffset": )" +
                       std::to_string(offset_bytes_) + "}");
    return text;
  }

  Bytes data;
  Bytes index;

 private:
  unsigned version_;
  unsigned offset_bytes_;
};

}  // namespace rde::test
