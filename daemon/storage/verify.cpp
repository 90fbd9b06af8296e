// Needles that are read through once, so that ranges of them can be trusted; and bytes that do not match.
#include <algorithm>

#include "seaweed/file_id.h"
#include "storage/storage_reader.h"

namespace rde {

void StorageReader::ask_for_verification(Flight& flight) {
  const bool waits = flight.needle.data_size <= kVerifyLimit || flight.needle.damaged;
  flight.is_unverified = !waits;
  Flight* verifier = verifier_of(flight.needle);
  if (verifier == nullptr) {
    if (!waits && verifiers_.size() >= kMaxBackground) return;
    verifier = &take_flight();
    verifier->verifies = true;
    verifier->bulk = true;
    verifier->volume = flight.volume;
    verifier->entry = flight.entry;
    verifier->needle = flight.needle;
    verifiers_.push_back(verifier);
    unverified_.push(*verifier);
  }
  if (!waits) return;
  flight.verifier = verifier;
  if (verifier->stage == Flight::Stage::ready && !flight.bulk) verifier->bulk = false;
}

Flight* StorageReader::verifier_of(const KnownNeedle& needle) const {
  const auto found = std::ranges::find_if(verifiers_, [&](const Flight* verifier) {
    return verifier->needle.instance == needle.instance && verifier->needle.offset == needle.offset;
  });
  return found == verifiers_.end() ? nullptr : *found;
}

void StorageReader::start_verifiers() {
  while (!unverified_.is_empty() && !free_scratch_.empty()) {
    Flight& verifier = *unverified_.front();
    FlightList::remove(verifier);
    verifier.scratch = free_scratch_.back();
    free_scratch_.pop_back();
    stream(verifier, 0, verifier.needle.data_size, nullptr);
  }
}

void StorageReader::on_verified(Flight& verifier, Status status) {
  std::erase(verifiers_, &verifier);
  if (verifier.scratch != nullptr) free_scratch_.push_back(verifier.scratch);
  const KnownNeedle needle = verifier.needle;
  for (std::size_t i = 0; i < flights_.size(); ++i) {
    Flight& flight = *flights_[i];
    if (!flight.in_use || flight.verifier != &verifier) continue;
    flight.verifier = nullptr;
    flight.needle = needle;
    if (status != Status::ok) {
      fail(flight, status);
    } else if (flight.stage == Flight::Stage::verifying) {
      on_streamed(flight);
    }
  }
  release(verifier);
}

// Once may be a swap, or a bit that flipped on the way: the bytes are read again before anybody is told.
void StorageReader::on_wrong_crc(Flight& flight) {
  if (!flight.has_reread) {
    flight.has_reread = true;
    if (flight.verifies) return stream(flight, 0, flight.length, nullptr);
    store_.cache().forget(flight.needle.instance, flight.needle.offset);
    return park(flight, true);
  }
  flight.needle.damaged = true;
  store_.cache().put(flight.needle);
  count_up(counters_.crc_failures);
  warn(flight, "the stored bytes do not match their CRC32C; restore the object from a replica");
  end(flight, Status::object_corrupt);
}

void StorageReader::remember_verified(Flight& flight) {
  KnownNeedle& needle = flight.needle;
  if (needle.verified) return;
  needle.crc = flight.crc;
  needle.verified = true;
  needle.damaged = false;
  store_.cache().put(needle);
  count_up(counters_.verified);
}

void StorageReader::warn(const Flight& flight, std::string_view text) {
  const Nanoseconds now = now_ns();
  if (now < warn_at_) return;  // damage comes in swarms
  warn_at_ = now + kSecond;
  const auto cookie = flight.job != nullptr ? flight.job->id.cookie : flight.needle.cookie;
  const auto volume = volume_id_of(flight.volume->base().substr(flight.volume->base().rfind('/') + 1)).value_or(0);
  store_.warn("object " + format_file_id({volume, flight.entry.key, cookie}) + " in '" + flight.volume->base() +
              ".dat' at " + std::to_string(flight.entry.offset) + ": " + std::string(text));
}

}  // namespace rde
