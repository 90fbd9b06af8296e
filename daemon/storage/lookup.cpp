// From a job to a record, and what to do when volume and index do not agree.
#include <algorithm>

#include "storage/storage_reader.h"

namespace rde {

// True: there are others now.
bool StorageReader::refresh_volumes() {
  const std::uint64_t version = store_.version();
  if (version == version_) return false;
  version_ = version;
  volumes_ = store_.volumes();
  return true;
}

void StorageReader::start(Flight& flight) {
  const ObjectJob& job = *flight.job;
  flight.rewind();
  refresh_volumes();
  flight.volume = volumes_->find(job.id.volume);
  if (!flight.volume && refresh_volumes()) flight.volume = volumes_->find(job.id.volume);  // it was just replaced
  if (!flight.volume) return end(flight, Status::volume_not_found);
  const Volume& volume = *flight.volume;
  if (volume.is_remote()) return end(flight, Status::volume_remote);
  const auto entry = volume.find(job.id.needle);
  if (!entry) return on_missing(flight);
  flight.entry = *entry;
  flight.needle = {};
  if (entry->size == 0) {
    // Nothing is known of an empty object but that it exists: like its own server we take any cookie.
    if (job.kind == ObjectJob::Kind::stat) return answer_stat(flight);
    if (job.offset != 0) return end(flight, Status::offset_past_end);
    return answer(flight, 0, 0);
  }
  if (job.kind == ObjectJob::Kind::read) {
    const auto known = store_.cache().find(volume.instance(), entry->offset);
    if (known && known->id == job.id.needle) {
      count_up(counters_.cache_hits);
      flight.needle = *known;
      return on_known(flight);
    }
  }
  check_record(flight);
}

// Waits until the store has looked at the volume's files again.
void StorageReader::park(Flight& flight, bool suspect) {
  constexpr Nanoseconds kFirstPause = 5 * kMillisecond;
  ++flight.tries;
  flight.stage = Flight::Stage::parked;
  flight.retry_at = flight.tries > 1 ? now_ns() + (kFirstPause << (flight.tries - 2)) : 0;
  flight.ticket = store_.request_check(flight.job->id.volume, suspect);
  flight.volume.reset();
  parked_.push(flight);
  count_up(counters_.rechecks);
}

// The index does not know the key. It may only not know it yet.
void StorageReader::on_missing(Flight& flight) {
  const bool waiting = flight.volume->swap() == Volume::Swap::waiting;
  const bool checked = flight.tries != 0;  // what was written before the job came has been taken in
  if (waiting ? flight.tries < kMaxTries : !checked && flight.volume->looks_changed()) return park(flight, false);
  end(flight, waiting ? Status::volume_changing : Status::object_not_found);
}

// The record is not the one that the index names: the volume was replaced, or is damaged.
void StorageReader::on_mismatch(Flight& flight) {
  if (flight.verifies) return end(flight, Status::volume_corrupt);
  const std::uint64_t instance = flight.volume->instance();
  const bool changing = instance != flight.seen_instance || flight.volume->swap() != Volume::Swap::settled;
  flight.seen_instance = instance;
  store_.cache().forget(instance, flight.entry.offset);
  if (flight.tries < kMaxTries) return park(flight, true);
  warn(flight, "a record is not what the index says");
  end(flight, changing ? Status::volume_changing : Status::volume_corrupt);
}

}  // namespace rde
