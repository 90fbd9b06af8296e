#include "storage/storage_reader.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>

namespace rde {
namespace {

constexpr Nanoseconds kSweepTime = kMillisecond;
constexpr std::size_t kFirstFlights = 64;
constexpr unsigned kMaxRounds = 4;  // of one progress(): check, read, and once more for good measure

}  // namespace

void Flight::rewind() {
  outstanding = 0;
  above_32g = false;
  cut_short = false;
  verifier = nullptr;
  is_unverified = false;
  issued = ended = summed = 0;
  crc = others_crc = 0;
}

void Flight::reset() {
  rewind();
  job = nullptr;
  in_use = verifies = bulk = has_reread = false;
  stage = Stage::ready;
  verdict = Status::ok;
  volume.reset();
  needle = {};
  seen_instance = 0;
  tries = 0;
  to = scratch = nullptr;
}

Result<std::unique_ptr<StorageReader>> StorageReader::open(VolumeStore& store, const ReadQueueOptions& options) {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return system_error("eventfd", errno);
  auto queue = open_read_queue(options, event.get(), [&](std::string_view text) { store.warn(text); });
  if (!queue) return queue.error();
  return std::make_unique<StorageReader>(store, std::move(*queue), std::move(event));
}

StorageReader::StorageReader(VolumeStore& store, std::unique_ptr<ReadQueue> queue, Descriptor event)
    : store_(store),
      event_(std::move(event)),
      queue_(std::move(queue)),
      scratch_(std::make_unique<std::byte[]>(std::size_t{kVerifiers} * kWindow * kSlice)) {
  for (unsigned i = 0; i < kVerifiers; ++i) free_scratch_.push_back(scratch_.get() + std::size_t{i} * kWindow * kSlice);
  queue_->add_memory({scratch_.get(), std::size_t{kVerifiers} * kWindow * kSlice});
  ended_.reserve(kFirstFlights);
  telling_.reserve(kFirstFlights);
  store_.add_listener(event_.get());
}

StorageReader::~StorageReader() {
  for (const auto& flight : flights_) {
    if (flight->in_use) fail(*flight, Status::cancelled);
  }
  while (in_flight_ != 0) {
    queue_->flush();
    pollfd news{event_.get(), POLLIN, 0};
    if (reap() == 0) poll(&news, 1, 1);
  }
  tell_ended();
  store_.remove_listener(event_.get());
}

void StorageReader::submit(ObjectJob& job) {
  Flight& flight = take_flight();
  flight.job = &job;
  flight.bulk = job.bulk;
  job.status = Status::ok;
  job.flags = 0;
  job.bytes = job.crc = job.etag = 0;
  job.object_size = 0;
  ready_[flight.bulk ? 1 : 0].push(flight);
}

void StorageReader::cancel(ObjectJob& job) {
  const auto found =
      std::ranges::find_if(flights_, [&](const auto& flight) { return flight->in_use && flight->job == &job; });
  if (found != flights_.end()) fail(**found, Status::cancelled);
}

unsigned StorageReader::progress() {
  if (!busy()) return 0;
  unsigned count = reap();
  if (const Nanoseconds now = now_ns(); now >= sweep_at_) {
    sweep_at_ = now + kSweepTime;
    look_at_deadlines();
  }
  retry_parked();
  may_issue_ = kRoundBytes;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    start_ready();
    issue_slices();
    queue_->flush();
    // What the page cache holds has been read by now.
    const unsigned reaped = reap();
    count += reaped;
    if (reaped == 0) break;
  }
  return count + tell_ended();
}

bool StorageReader::arm() {
  std::uint64_t news = 0;
  // Drained first: what comes after this makes it readable again.
  [[maybe_unused]] const auto got = read(event_.get(), &news, sizeof news);
  if (!ended_.empty() || !queue_->arm()) return false;
  for (const unsigned bulk : {0U, 1U}) {
    if (!ready_[bulk].is_empty() && has_room(2 + spare_at_start(bulk))) return false;
    if (!streams_[bulk].is_empty() && has_room(1 + spare_in_stream(bulk))) return false;
  }
  for (const Flight* flight = parked_.front(); flight != nullptr; flight = flight->next) {
    if (flight->ticket <= store_.checked() && flight->retry_at <= now_ns()) return false;
  }
  return true;
}

Nanoseconds StorageReader::next_timer() const {
  Nanoseconds next = 0;
  const auto take = [&](Nanoseconds time) {
    if (time != 0 && (next == 0 || time < next)) next = time;
  };
  for (const auto& flight : flights_) {
    if (!flight->in_use) continue;
    // With a verdict only the kernel is waited for, and that comes by the descriptor.
    if (flight->job != nullptr && flight->verdict == Status::ok) take(flight->job->deadline);
    if (flight->stage == Flight::Stage::parked && flight->ticket <= store_.checked()) take(flight->retry_at);
  }
  return next;
}

Flight& StorageReader::take_flight() {
  if (free_.empty()) {
    const std::size_t more = std::max(kFirstFlights, flights_.size());
    free_.reserve(flights_.size() + more);
    for (std::size_t i = 0; i < more; ++i) {
      flights_.push_back(std::make_unique<Flight>(static_cast<std::uint32_t>(flights_.size())));
      free_.push_back(flights_.back().get());
    }
  }
  Flight& flight = *free_.back();
  free_.pop_back();
  flight.in_use = true;
  ++in_use_;
  return flight;
}

void StorageReader::release(Flight& flight) {
  FlightList::remove(flight);
  flight.reset();
  free_.push_back(&flight);
  --in_use_;
}

void StorageReader::fail(Flight& flight, Status status) {
  if (flight.verdict == Status::ok) flight.verdict = status;
  FlightList::remove(flight);  // nothing more is started for it
  if (flight.outstanding == 0) end(flight, flight.verdict);
}

void StorageReader::end(Flight& flight, Status status) {
  if (flight.verifies) {
    on_verified(flight, status);
    return;
  }
  ObjectJob& job = *flight.job;
  job.status = status;
  if (status != Status::ok) {
    job.bytes = job.crc = 0;
    job.flags = 0;
    count_up(counters_.errors);
  }
  ended_.push_back(&job);
  release(flight);
}

void StorageReader::look_at_deadlines() {
  const Nanoseconds now = now_ns();
  for (const auto& flight : flights_) {
    if (!flight->in_use || flight->job == nullptr) continue;
    const Nanoseconds deadline = flight->job->deadline;
    if (deadline != 0 && now >= deadline) fail(*flight, Status::deadline_exceeded);
  }
}

void StorageReader::retry_parked() {
  if (parked_.is_empty()) return;
  const std::uint64_t checked = store_.checked();
  const Nanoseconds now = now_ns();
  for (Flight* flight = parked_.front(); flight != nullptr;) {
    Flight* next = flight->next;
    if (flight->ticket <= checked && flight->retry_at <= now) {
      FlightList::remove(*flight);
      flight->stage = Flight::Stage::ready;
      ready_[flight->bulk ? 1 : 0].push(*flight);
    }
    flight = next;
  }
}

void StorageReader::start_ready() {
  for (const unsigned bulk : {0U, 1U}) {
    while (!ready_[bulk].is_empty() && has_room(2 + spare_at_start(bulk))) {
      Flight& flight = *ready_[bulk].front();
      FlightList::remove(flight);
      start(flight);
    }
  }
  start_verifiers();
}

unsigned StorageReader::tell_ended() {
  unsigned count = 0;
  // on_done may submit, and so end, further jobs.
  while (!ended_.empty()) {
    telling_.swap(ended_);
    for (ObjectJob* job : telling_) job->on_done();
    count += static_cast<unsigned>(telling_.size());
    telling_.clear();
  }
  return count;
}

}  // namespace rde
