// From a record that is known to be the right one to an answer.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/crc32c.h"
#include "rde_layout.h"
#include "storage/storage_reader.h"

namespace rde {
namespace {

std::uint64_t wall_clock_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

std::uint16_t packing_flags(const KnownNeedle& needle) {
  return static_cast<std::uint16_t>(((needle.flags & kNeedleGzip) != 0 ? RDE_COMPLETION_FLAG_GZIP : 0) |
                                    ((needle.flags & kNeedleManifest) != 0 ? RDE_COMPLETION_FLAG_MANIFEST : 0));
}

}  // namespace

void StorageReader::on_known(Flight& flight) {
  const ObjectJob& job = *flight.job;
  const KnownNeedle& needle = flight.needle;
  // A wrong cookie is answered like an object that never was. Not a byte of data has been read so far: what lies
  // in the client's memory is the client's to see.
  if (needle.cookie != job.id.cookie) return end(flight, Status::object_not_found);
  if (needle.expires_at_ns != 0 && wall_clock_ns() >= needle.expires_at_ns) {
    return end(flight, Status::object_not_found);
  }
  if (job.kind == ObjectJob::Kind::stat) return answer_stat(flight);
  if (job.offset > needle.data_size) return end(flight, Status::offset_past_end);
  const std::uint64_t length = std::min<std::uint64_t>(job.destination.size(), needle.data_size - job.offset);
  if (length == 0) return answer(flight, 0, 0);
  if (length != needle.data_size && !needle.verified && !job.skip_crc) ask_for_verification(flight);
  stream(flight, job.offset, length, job.destination.data());
}

void StorageReader::stream(Flight& flight, std::uint64_t begin, std::uint64_t length, std::byte* to) {
  flight.stage = Flight::Stage::streaming;
  flight.begin = begin;
  flight.length = length;
  flight.to = to;
  flight.issued = flight.ended = flight.summed = 0;
  flight.crc = flight.others_crc = 0;
  streams_[flight.bulk ? 1 : 0].push(flight);
}

void StorageReader::on_streamed(Flight& flight) {
  // Called once more when the needle has been verified: the parts are put together but once.
  flight.crc = crc32c_combine(flight.crc, std::exchange(flight.others_crc, 0), flight.length - flight.summed);
  flight.summed = flight.length;
  if (flight.length == flight.needle.data_size && (flight.verifies || !flight.job->skip_crc)) {
    if (!crc_matches(flight.needle.crc, flight.crc)) return on_wrong_crc(flight);
    remember_verified(flight);
    if (flight.verifies) return end(flight, Status::ok);
  }
  if (flight.verifier != nullptr) {
    flight.stage = Flight::Stage::verifying;
    return;
  }
  answer(flight, static_cast<std::uint32_t>(flight.length), flight.job->skip_crc ? 0 : flight.crc);
}

void StorageReader::answer(Flight& flight, std::uint32_t bytes, std::uint32_t crc) {
  ObjectJob& job = *flight.job;
  const KnownNeedle& needle = flight.needle;
  const bool reaches_end = job.offset + bytes == needle.data_size;
  const bool unverified = bytes != 0 && (job.skip_crc || flight.is_unverified);
  job.bytes = bytes;
  job.crc = crc;
  job.etag = needle.crc;
  job.object_size = needle.data_size;
  job.flags = static_cast<std::uint16_t>(RDE_COMPLETION_FLAG_LOCAL | packing_flags(needle) |
                                         (reaches_end ? RDE_COMPLETION_FLAG_END : 0) |
                                         (unverified ? RDE_COMPLETION_FLAG_UNVERIFIED : 0));
  count_up(counters_.reads);
  count_up(counters_.bytes, bytes);
  end(flight, Status::ok);
}

void StorageReader::answer_stat(Flight& flight) {
  ObjectJob& job = *flight.job;
  const KnownNeedle& needle = flight.needle;
  NeedleMeta meta;
  // The tail was parsed before; of an empty object there is none.
  if (flight.entry.size != 0) meta = *parse_needle_tail(flight.volume->version(), flight.tail);
  rde_object_stat stat{};
  const std::size_t size = sizeof stat + meta.mime.size() + meta.name.size();
  if (size > job.destination.size()) return end(flight, Status::buffer_too_small);
  stat.stored_size = needle.data_size;
  stat.last_modified = meta.last_modified;
  stat.append_at_ns = meta.append_at_ns;
  stat.etag = needle.crc;
  stat.flags = packing_flags(needle);
  stat.volume = job.id.volume;
  stat.mime_length = static_cast<std::uint16_t>(meta.mime.size());
  stat.name_length = static_cast<std::uint16_t>(meta.name.size());
  std::byte* to = job.destination.data();
  std::memcpy(to, &stat, sizeof stat);
  std::ranges::copy(std::as_bytes(std::span(meta.mime)), to + sizeof stat);
  std::ranges::copy(std::as_bytes(std::span(meta.name)), to + sizeof stat + meta.mime.size());

  job.bytes = static_cast<std::uint32_t>(size);
  job.crc = job.skip_crc ? 0 : crc32c(job.destination.first(size));
  job.etag = needle.crc;
  job.object_size = needle.data_size;
  job.flags = static_cast<std::uint16_t>(RDE_COMPLETION_FLAG_LOCAL | packing_flags(needle));
  count_up(counters_.stats);
  end(flight, Status::ok);
}

}  // namespace rde
