// What the read queue does for a flight.
#include <algorithm>
#include <cstring>

#include "base/crc32c.h"
#include "storage/storage_reader.h"

namespace rde {
namespace {

constexpr std::uint32_t kMaxRetries = 1000;  // of a read that the kernel only interrupted

constexpr std::uint64_t token_of(const Flight& flight, unsigned slot) {
  return std::uint64_t{flight.index} << 8 | slot;
}

// Sums a slice up. In order that is one pass; a slice that came early is put to its place by combining.
void add_crc(Flight& flight, const FlightRead& read) {
  const std::span<const std::byte> bytes{read.to, read.length};
  if (read.position == flight.summed) {
    flight.crc = crc32c(bytes, flight.crc);
    flight.summed += read.length;
  } else {
    flight.others_crc ^= crc32c_combine(crc32c(bytes), 0, flight.length - read.position - read.length);
  }
}

}  // namespace

void StorageReader::push(Flight& flight, unsigned slot) {
  const FlightRead& read = flight.reads[slot];
  queue_->push({flight.volume->data_fd(),
                {read.to + read.done, read.length - read.done},
                read.at + read.done,
                token_of(flight, slot)});
  ++in_flight_;
}

unsigned StorageReader::reap() {
  std::array<FileReadEnd, 64> room;
  unsigned count = 0;
  while (in_flight_ != 0) {
    const auto ends = queue_->reap(room);
    if (ends.empty()) break;
    count += static_cast<unsigned>(ends.size());
    for (const auto& end : ends) {
      on_read(*flights_[end.token >> 8], static_cast<unsigned>(end.token & 0xff), end.result);
    }
  }
  return count;
}

void StorageReader::on_read(Flight& flight, unsigned slot, std::int32_t result) {
  FlightRead& read = flight.reads[slot];
  --in_flight_;
  const bool again = (result == -EINTR || result == -EAGAIN) && read.retries++ < kMaxRetries;
  if (result > 0) read.done += static_cast<std::uint32_t>(result);
  if ((again || (result > 0 && read.done < read.length)) && flight.verdict == Status::ok) {
    push(flight, slot);  // the place that it has just left in the queue
    return;
  }
  read.active = false;
  --flight.outstanding;
  if (result < 0 && flight.verdict == Status::ok) {
    warn(flight, std::strerror(-result));
    flight.verdict = Status::io_error;
  }
  if (result == 0) flight.cut_short = true;
  if (flight.stage == Flight::Stage::streaming && flight.verdict == Status::ok && !flight.cut_short) {
    flight.ended += read.length;
    if (flight.job == nullptr || !flight.job->skip_crc) add_crc(flight, read);
    if (flight.issued < flight.length && flight.list == nullptr) streams_[flight.bulk ? 1 : 0].push(flight);
  } else {
    FlightList::remove(flight);
  }
  if (flight.outstanding == 0) on_idle(flight);
}

void StorageReader::on_idle(Flight& flight) {
  if (flight.verdict != Status::ok) {
    end(flight, flight.verdict);
  } else if (flight.stage == Flight::Stage::checking) {
    on_checked(flight);
  } else if (flight.cut_short) {
    on_mismatch(flight);
  } else if (flight.ended == flight.length) {
    on_streamed(flight);
  }
}

void StorageReader::issue_slices() {
  const unsigned foreground = issue(0, may_issue_);
  issue(1, foreground == 0 ? may_issue_ : 1);  // bulk yields, but does not starve
}

// Starts slices of the list's flights in turn, until the budget is used up. Answers how many.
unsigned StorageReader::issue(unsigned bulk, std::uint64_t budget) {
  FlightList& list = streams_[bulk];
  unsigned count = 0;
  std::uint64_t bytes = 0;
  while (!list.is_empty() && has_room(1 + spare_in_stream(bulk)) && bytes < budget) {
    Flight& flight = *list.front();
    FlightList::remove(flight);
    const std::uint64_t before = flight.issued;
    issue_slice(flight);
    bytes += flight.issued - before;
    ++count;
    if (flight.issued < flight.length && flight.outstanding < kWindow) list.push(flight);
  }
  may_issue_ -= std::min(may_issue_, bytes);
  return count;
}

void StorageReader::issue_slice(Flight& flight) {
  const auto free = std::ranges::find(flight.reads, false, &FlightRead::active);
  const auto slot = static_cast<unsigned>(free - flight.reads.begin());
  const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(kSlice, flight.length - flight.issued));
  std::byte* to = flight.to != nullptr ? flight.to + flight.issued : flight.scratch + std::size_t{slot} * kSlice;
  *free = {.to = to,
           .at = flight.needle.data_at + flight.begin + flight.issued,
           .position = flight.issued,
           .length = length,
           .active = true};
  flight.issued += length;
  ++flight.outstanding;
  push(flight, slot);
}

}  // namespace rde
