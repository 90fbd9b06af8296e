#include "session/session_table.h"

#include <algorithm>
#include <bit>

#include "base/crc32c.h"

namespace rde {
namespace {

constexpr unsigned kExpireAtOnce = 256;
// Of one slab; each has a record. What is left over remembers sessions that have expired.
constexpr std::uint64_t kOwners = 65'536;

}  // namespace

SessionTable::SessionTable(const SessionOptions& options)
    : options_(options), slab_bits_(static_cast<unsigned>(std::bit_width(options.slabs - 1))) {
  // The highest index of all stays free: it is kNone.
  const auto most = static_cast<std::uint32_t>(
      std::min<std::uint64_t>((SessionSlab::kNone >> slab_bits_) / 2, options.most + kOwners));
  for (unsigned i = 0; i < options.slabs; ++i) shelves_.push_back(std::make_unique<Shelf>(most, now_ns()));
}

Handle SessionTable::handle_of(unsigned slab, std::uint32_t index, std::uint32_t generation) const {
  return {index << slab_bits_ | slab, generation};
}

SessionOwner SessionTable::add_owner(unsigned slab, std::uint32_t uid, Nanoseconds now) {
  Shelf& shelf = *shelves_[slab];
  const std::lock_guard lock(shelf.mutex);
  const std::uint32_t index = shelf.slab.take(now);
  if (index != SessionSlab::kNone) shelf.slab.at(index).state = SessionState::owner;
  return {slab, index, uid};
}

bool SessionTable::has_sessions(const SessionOwner& owner) const {
  if (owner.record == SessionSlab::kNone) return false;
  Shelf& shelf = *shelves_[owner.slab];
  const std::lock_guard lock(shelf.mutex);
  return shelf.slab.at(owner.record).siblings.next != owner.record;
}

bool SessionTable::end_some(SessionOwner& owner, unsigned most) {
  if (owner.record == SessionSlab::kNone) return false;
  Shelf& shelf = *shelves_[owner.slab];
  const std::lock_guard lock(shelf.mutex);
  SessionRecord& head = shelf.slab.at(owner.record);
  while (head.siblings.next != owner.record) {
    if (most-- == 0) return true;
    end(shelf, head.siblings.next, SessionState::ended);
    ++shelf.counts.ended;
  }
  head.state = SessionState::ended;
  shelf.slab.give_back(owner.record);
  owner.record = SessionSlab::kNone;
  return false;
}

// Exact: never over the cap, and never refused while there is room.
bool SessionTable::reserve() {
  std::uint64_t live = live_.load(std::memory_order_relaxed);
  do {
    if (live >= options_.most) return false;
  } while (!live_.compare_exchange_weak(live, live + 1, std::memory_order_relaxed));
  return true;
}

SessionTable::Opened SessionTable::open(const SessionOwner& owner, Nanoseconds timeout, std::uint64_t peer,
                                        Nanoseconds now) {
  if (timeout > kLongestSession) return {Status::invalid_request, {}, 0};
  if (owner.record == SessionSlab::kNone) return {Status::out_of_memory, {}, 0};
  const bool reserved = reserve();
  Shelf& shelf = *shelves_[owner.slab];
  const std::lock_guard lock(shelf.mutex);
  if (!reserved) {
    ++shelf.counts.refused;
    return {Status::too_many_sessions, {}, 0};
  }
  const std::uint32_t index = shelf.slab.take(now);
  if (index == SessionSlab::kNone) {
    live_.fetch_sub(1, std::memory_order_relaxed);
    return {Status::out_of_memory, {}, 0};
  }
  SessionRecord& record = shelf.slab.at(index);
  record.state = SessionState::created;
  record.uid = owner.uid;
  record.owner = owner.record;
  record.peer = peer;
  record.expires = now + (timeout != 0 ? timeout : options_.timeout);
  shelf.slab.schedule(index);
  link_last([&](std::uint32_t at) -> SessionLink& { return shelf.slab.at(at).siblings; }, owner.record, index);
  ++shelf.counts.created;
  return {Status::ok, handle_of(owner.slab, index, record.generation), record.expires};
}

void SessionTable::end(Shelf& shelf, std::uint32_t index, SessionState state) {
  shelf.slab.unschedule(index);
  unlink([&](std::uint32_t at) -> SessionLink& { return shelf.slab.at(at).siblings; }, index);
  shelf.slab.at(index).state = state;
  shelf.slab.give_back(index);
  live_.fetch_sub(1, std::memory_order_relaxed);
}

SessionTable::Found SessionTable::find(Handle session) {
  Found found;
  const unsigned slab = session.index & ((1U << slab_bits_) - 1);
  found.status = Status::session_not_found;
  if (session.is_null() || slab >= shelves_.size()) return found;
  found.shelf = shelves_[slab].get();
  found.index = session.index >> slab_bits_;
  found.lock = std::unique_lock(found.shelf->mutex);
  if (!found.shelf->slab.has(found.index)) return found;
  const SessionRecord& record = found.shelf->slab.at(found.index);
  if (record.generation != session.generation || record.state == SessionState::owner) {
    found.status = Status::stale_handle;
  } else if (record.state == SessionState::expired) {
    found.status = Status::session_expired;
  } else {
    found.status = record.is_open() ? Status::ok : Status::stale_handle;
  }
  return found;
}

// What the wheel has not come to yet is over all the same.
SessionTable::Found SessionTable::find_open(Handle session, std::uint32_t uid, Nanoseconds now) {
  Found found = find(session);
  if (found.status != Status::ok) return found;
  const SessionRecord& record = found.shelf->slab.at(found.index);
  if (record.uid != uid && uid != 0) {
    found.status = Status::permission_denied;
  } else if (record.expires <= now) {
    end(*found.shelf, found.index, SessionState::expired);
    ++found.shelf->counts.expired;
    found.status = Status::session_expired;
  }
  return found;
}

SessionTable::Used SessionTable::use(Handle session, const SessionOwner& who, Nanoseconds now) {
  const Found found = find_open(session, who.uid, now);
  if (found.status != Status::ok) return {found.status, {}};
  SessionRecord& record = found.shelf->slab.at(found.index);
  const bool own = found.shelf == shelves_[who.slab].get() && record.owner == who.record;
  if (record.peer != 0 && !own) return {Status::permission_denied, {}};
  record.state = SessionState::active;
  return {Status::ok, Handle::from(record.peer)};
}

void SessionTable::delivered(Handle session, std::uint64_t bytes, std::uint32_t crc, bool crc_known) {
  const Found found = find(session);
  if (found.status != Status::ok) return;
  SessionRecord& record = found.shelf->slab.at(found.index);
  record.crc_known = record.crc_known && crc_known;
  record.crc = record.bytes == 0 ? crc : crc32c_combine(record.crc, crc, bytes);
  record.bytes += bytes;
  found.shelf->counts.bytes += bytes;
}

SessionTable::Closed SessionTable::close(Handle session, const SessionOwner& who, const SessionReport& report,
                                         Nanoseconds now) {
  const Found found = find_open(session, who.uid, now);
  if (found.status != Status::ok) return {found.status, 0, false, 0};
  const SessionRecord& record = found.shelf->slab.at(found.index);
  const bool differs = report.success && report.crc && record.crc_known && *report.crc != record.crc;
  const Closed closed{differs ? Status::crc_mismatch : Status::ok, record.crc, record.crc_known, record.bytes};
  const bool good = report.success && !differs;
  end(*found.shelf, found.index, good ? SessionState::completed : SessionState::failed);
  ++(good ? found.shelf->counts.completed : found.shelf->counts.failed);
  return closed;
}

bool SessionTable::expire(unsigned slab, Nanoseconds now) {
  Shelf& shelf = *shelves_[slab];
  constexpr unsigned kOften = 23;  // half a tick of the wheel
  if (!shelf.more && shelf.looked == now >> kOften) return false;
  shelf.looked = now >> kOften;
  const std::lock_guard lock(shelf.mutex);
  shelf.more = shelf.slab.advance(now, kExpireAtOnce, [&](std::uint32_t index) {
    end(shelf, index, SessionState::expired);
    ++shelf.counts.expired;
  });
  return shelf.more;
}

SessionCounts SessionTable::counts() const {
  SessionCounts sum;
  for (const auto& shelf : shelves_) {
    const std::lock_guard lock(shelf->mutex);
    const SessionCounts& counts = shelf->counts;
    sum.created += counts.created;
    sum.completed += counts.completed;
    sum.failed += counts.failed;
    sum.expired += counts.expired;
    sum.ended += counts.ended;
    sum.refused += counts.refused;
    sum.bytes += counts.bytes;
    sum.memory += shelf->slab.memory();
  }
  return sum;
}

}  // namespace rde
