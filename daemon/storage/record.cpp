// The record itself: its two ends are read and checked before anything is sent.
#include <algorithm>

#include "storage/storage_reader.h"

namespace rde {
namespace {

// Where SeaweedFS goes on when 4-byte offsets have run out.
constexpr std::uint64_t kOffsetWrap = std::uint64_t{32} << 30;

constexpr unsigned kHead = 0, kTail = 1;  // slots

std::uint64_t record_offset(const Flight& flight) { return flight.entry.offset + (flight.above_32g ? kOffsetWrap : 0); }

}  // namespace

void StorageReader::check_record(Flight& flight) {
  const unsigned version = flight.volume->version();
  const std::size_t head_size = needle_data_offset(version);
  const std::uint64_t record_size = needle_record_size(version, flight.entry.size);
  // A body that cannot even hold its own size; the record cannot be one.
  if (record_size < head_size + needle_trailer_size(version)) return on_mismatch(flight);
  const std::size_t tail_size = std::min<std::uint64_t>(record_size - head_size, flight.short_tail.size());
  const std::uint64_t at = record_offset(flight);

  flight.stage = Flight::Stage::checking;
  flight.tail = std::span(flight.short_tail).first(tail_size);
  flight.reads[kHead] = {
      .to = flight.head.data(), .at = at, .length = static_cast<std::uint32_t>(head_size), .active = true};
  flight.reads[kTail] = {.to = flight.tail.data(),
                         .at = at + record_size - tail_size,
                         .length = static_cast<std::uint32_t>(tail_size),
                         .active = true};
  flight.outstanding = 2;
  push(flight, kHead);
  push(flight, kTail);
}

// The metadata is longer than what was read of it at first.
void StorageReader::read_long_tail(Flight& flight, std::size_t size) {
  if (!flight.long_tail) flight.long_tail = std::make_unique<std::byte[]>(kMaxNeedleTail);
  const std::uint64_t record_end =
      record_offset(flight) + needle_record_size(flight.volume->version(), flight.entry.size);
  flight.tail = {flight.long_tail.get(), size};
  flight.reads[kTail] = {
      .to = flight.tail.data(), .at = record_end - size, .length = static_cast<std::uint32_t>(size), .active = true};
  flight.outstanding = 1;
  push(flight, kTail);
}

void StorageReader::on_checked(Flight& flight) {
  const Volume& volume = *flight.volume;
  const unsigned version = volume.version();
  const NeedleHeader header = parse_needle_header(flight.head);
  if (flight.cut_short || header.id != flight.entry.key || header.size != flight.entry.size) {
    const bool reaches = volume.offset_bytes() == 4 && !flight.above_32g &&
                         stamp_of(volume.data_fd()).size > flight.entry.offset + kOffsetWrap;
    if (!reaches) return on_mismatch(flight);
    flight.above_32g = true;
    flight.cut_short = false;
    return check_record(flight);
  }
  const auto refuse = [&](const Error& error) {
    warn(flight, error.text);
    end(flight, error.status);
  };
  const auto data_size = parse_needle_data_size(version, header.size, flight.head);
  if (!data_size) return refuse(data_size.error());
  const std::size_t tail_size = needle_tail_size(version, header.size, *data_size);
  if (tail_size > flight.tail.size()) return read_long_tail(flight, tail_size);
  flight.tail = flight.tail.last(tail_size);
  const auto meta = parse_needle_tail(version, flight.tail);
  if (!meta) return refuse(meta.error());

  flight.needle = {.instance = volume.instance(),
                   .offset = flight.entry.offset,
                   .id = header.id,
                   .data_at = record_offset(flight) + needle_data_offset(version),
                   .expires_at_ns = meta->expires_at_ns(volume.ttl()),
                   .cookie = header.cookie,
                   .data_size = *data_size,
                   .crc = meta->crc,
                   .flags = meta->flags};
  const auto known = store_.cache().find(volume.instance(), flight.entry.offset);
  if (known && known->verified && known->id == header.id) {
    flight.needle.crc = known->crc;
    flight.needle.verified = true;
  } else {
    store_.cache().put(flight.needle);
  }
  on_known(flight);
}

}  // namespace rde
