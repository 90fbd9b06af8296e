#include "seaweed/needle.h"

#include "seaweed/big_endian.h"

namespace rde {
namespace {

Error corrupt(std::string_view field, std::string_view why) {
  return {Status::volume_corrupt, "record: " + std::string(field) + " " + std::string(why) +
                                      "; check the volume with weed fix or restore it from a replica"};
}

// Takes fields off the front of the meta part; once one does not fit, `missing` names it and all answers are empty.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> take(std::size_t size, const char* field) {
    if (size > rest_.size()) {
      if (missing == nullptr) missing = field;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  template <class T, std::size_t Bytes = sizeof(T)>
  T number(const char* field) {
    const auto bytes = take(Bytes, field);
    return bytes.empty() ? T{} : get_big_endian<T, Bytes>(bytes, 0);
  }

  std::string_view text(std::size_t size, const char* field) {
    const auto bytes = take(size, field);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  [[nodiscard]] std::size_t left() const { return rest_.size(); }

  const char* missing = nullptr;

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::uint64_t NeedleMeta::expires_at_ns(Ttl volume_ttl) const {
  const std::uint64_t since_ns = append_at_ns != 0 ? append_at_ns : last_modified * 1'000'000'000;
  if (since_ns == 0) return 0;
  return ((flags & kNeedleTtl) != 0 ? ttl : volume_ttl).end_of(since_ns);
}

NeedleHeader parse_needle_header(std::span<const std::byte> bytes) {
  return {get_big_endian<std::uint32_t>(bytes, 0), get_big_endian<std::uint64_t>(bytes, 4),
          static_cast<std::int32_t>(get_big_endian<std::uint32_t>(bytes, 12))};
}

Result<std::uint32_t> parse_needle_data_size(unsigned version, std::int32_t size, std::span<const std::byte> bytes) {
  if (size < 0) return corrupt("size", "is negative: " + std::to_string(size));
  if (version == 1) return static_cast<std::uint32_t>(size);
  constexpr std::int32_t kLeastBody = 5;  // data_size and flags
  if (size < kLeastBody) return corrupt("size", "is " + std::to_string(size) + ", less than 5");
  const auto data_size = get_big_endian<std::uint32_t>(bytes, NeedleHeader::kBytes);
  const auto room = static_cast<std::uint32_t>(size - kLeastBody);
  if (data_size > room || room - data_size >= kMaxNeedleMeta) {
    return corrupt("data_size", "is " + std::to_string(data_size) + " in a body of " + std::to_string(size) + " bytes");
  }
  return data_size;
}

Result<NeedleMeta> parse_needle_tail(unsigned version, std::span<const std::byte> tail) {
  const std::size_t trailer = needle_trailer_size(version);
  if (tail.size() < trailer) return corrupt("tail", "has " + std::to_string(tail.size()) + " bytes");
  NeedleMeta meta;
  meta.crc = get_big_endian<std::uint32_t>(tail, tail.size() - trailer);
  if (version == 3) meta.append_at_ns = get_big_endian<std::uint64_t>(tail, tail.size() - 8);

  Fields fields(tail.first(tail.size() - trailer));
  if (version != 1) {
    meta.flags = fields.number<std::uint8_t>("flags");
    if (meta.flags & kNeedleName) meta.name = fields.text(fields.number<std::uint8_t>("name_size"), "name");
    if (meta.flags & kNeedleMime) meta.mime = fields.text(fields.number<std::uint8_t>("mime_size"), "mime");
    if (meta.flags & kNeedleLastModified) meta.last_modified = fields.number<std::uint64_t, 5>("last_modified");
    if (meta.flags & kNeedleTtl) {
      const auto ttl = fields.number<std::uint16_t>("ttl");
      meta.ttl = {static_cast<std::uint8_t>(ttl >> 8), static_cast<std::uint8_t>(ttl)};
    }
    if (meta.flags & kNeedlePairs) meta.pairs = fields.text(fields.number<std::uint16_t>("pairs_size"), "pairs");
  }
  if (fields.missing != nullptr) return corrupt(fields.missing, "does not fit the body");
  if (fields.left() != 0)
    return corrupt("body", "has " + std::to_string(fields.left()) + " bytes behind its last field");
  return meta;
}

Result<Needle> parse_needle(unsigned version, std::span<const std::byte> record) {
  if (record.size() < NeedleHeader::kBytes) return corrupt("header", "has fewer than 16 bytes");
  Needle needle;
  needle.header = parse_needle_header(record);
  const std::int32_t size = needle.header.size;
  if (size < 0) return corrupt("size", "is negative: " + std::to_string(size));
  if (needle_record_size(version, size) > record.size()) {
    return corrupt("size", "is " + std::to_string(size) + " in " + std::to_string(record.size()) + " bytes");
  }
  if (size == 0) {  // an empty object, or what a deletion appends: no body at all
    const auto tail = record.subspan(NeedleHeader::kBytes, needle_trailer_size(version));
    needle.meta.crc = get_big_endian<std::uint32_t>(tail, 0);
    if (version == 3) needle.meta.append_at_ns = get_big_endian<std::uint64_t>(tail, 4);
    return needle;
  }
  const auto data_size = parse_needle_data_size(version, size, record);
  if (!data_size) return data_size.error();
  const std::size_t data_offset = needle_data_offset(version);
  auto meta =
      parse_needle_tail(version, record.subspan(data_offset + *data_size, needle_tail_size(version, size, *data_size)));
  if (!meta) return meta.error();
  needle.meta = *meta;
  needle.data = record.subspan(data_offset, *data_size);
  return needle;
}

}  // namespace rde
