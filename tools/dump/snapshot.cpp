#include "dump/snapshot.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "dump/ring_scan.h"
#include "ring/position.h"
#include "segment/plan.h"
#include "segment/view.h"

namespace rde::tools {
namespace {

// A copy of shared memory, word by word.
template <class T>
T copy_of(const T* shared) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  std::uint64_t words[sizeof(T) / sizeof(std::uint64_t)];
  const auto* from = reinterpret_cast<const std::uint64_t*>(shared);
  for (std::size_t i = 0; i < std::size(words); ++i) words[i] = load_acquire(&from[i]);
  T copy;
  std::memcpy(&copy, words, sizeof copy);
  return copy;
}

RingLevel level_of(const RingScan& scan, std::uint64_t read, RingShape shape) {
  // The cursor was loaded before the scan, so a sound one is never ahead; a false one must not make a false number.
  const auto waiting = static_cast<std::int64_t>(scan.written - read);
  return {.written = scan.written,
          .read = read,
          .waiting = static_cast<std::uint64_t>(std::clamp<std::int64_t>(waiting, 0, shape.slots())),
          .next_slot = shape.slot_of(scan.written),
          .odd_slots = scan.odd_slots};
}

std::uint64_t entries_of(const RingLevel& level, RingShape shape, std::uint32_t last) {
  return std::min<std::uint64_t>({level.written, shape.slots(), last});
}

void add_requests(ChannelSnapshot& channel, const rde_request* slots, RingShape shape, std::uint32_t last) {
  const auto count = entries_of(channel.requests, shape, last);
  for (std::uint64_t back = 1; back <= count; ++back) {
    RequestEntry entry;
    entry.position = channel.requests.written - back;
    entry.slot = shape.slot_of(entry.position);
    const auto copy = copy_slot(slots[entry.slot]);
    entry.request = copy.slot;
    entry.stable = copy.stable && copy.slot.lap == shape.lap_of(entry.position);
    entry.taken = static_cast<std::int64_t>(channel.requests.read - entry.position) > 0;
    channel.last_requests.push_back(entry);
  }
}

void add_completions(ChannelSnapshot& channel, const rde_completion* slots, RingShape shape, std::uint32_t last) {
  const auto count = entries_of(channel.completions, shape, last);
  for (std::uint64_t back = 1; back <= count; ++back) {
    CompletionEntry entry;
    entry.position = channel.completions.written - back;
    entry.slot = shape.slot_of(entry.position);
    const auto copy = copy_slot(slots[entry.slot]);
    entry.completion = copy.slot;
    entry.stable = copy.stable && copy.slot.lap == shape.lap_of(entry.position);
    entry.reaped = static_cast<std::int64_t>(channel.completions.read - entry.position) > 0;
    channel.last_completions.push_back(entry);
  }
}

// Tells which of the requests shown have been answered, from all completions that are still in the ring.
void match_answers(ChannelSnapshot& channel, const rde_completion* slots, RingShape shape) {
  if (channel.last_requests.empty()) return;
  std::unordered_map<std::uint64_t, std::uint16_t> answers;
  const auto count = entries_of(channel.completions, shape, shape.slots());
  for (std::uint64_t back = count; back >= 1; --back) {
    const auto copy = copy_slot(slots[shape.slot_of(channel.completions.written - back)]);
    if (copy.stable && (copy.slot.flags & RDE_COMPLETION_FLAG_BUFFER_FREE) == 0) {
      answers[copy.slot.tag] = copy.slot.status;
    }
  }
  for (auto& entry : channel.last_requests) {
    if (const auto found = answers.find(entry.request.tag); found != answers.end()) entry.answer = found->second;
  }
}

ChannelSnapshot take_channel(const SegmentView& view, std::uint32_t index, std::uint32_t last) {
  const auto& header = view.header();
  const RingShape requests(header.depth), completions(header.completion_depth);
  ChannelSnapshot channel;
  channel.index = index;
  channel.lines = copy_of(view.channel(index));
  const auto& lines = channel.lines;
  channel.requests = level_of(scan_ring(view.requests(index), requests.slots(), lines.requests_posted),
                              lines.requests_taken, requests);
  channel.completions = level_of(scan_ring(view.completions(index), completions.slots(), lines.completions_posted),
                                 lines.completions_reaped, completions);
  add_requests(channel, view.requests(index), requests, last);
  add_completions(channel, view.completions(index), completions, last);
  match_answers(channel, view.completions(index), completions);
  return channel;
}

DoorbellSnapshot take_doorbell(const rde_doorbell* shared, std::uint32_t channels) {
  const auto bell = copy_of(shared);
  DoorbellSnapshot snapshot{.shard = std::nullopt,
                            .sleep = bell.sleep,
                            .woken = bell.woken,
                            .sleeps = bell.sleeps,
                            .late_wakeups = bell.late_wakeups,
                            .rung = {}};
  for (std::uint32_t i = 0; i < channels; ++i) {
    if ((bell.bits[i / 64] >> (i % 64) & 1U) != 0) snapshot.rung.push_back(i);
  }
  return snapshot;
}

void take_events(Snapshot& snapshot, const SegmentView& view, std::uint32_t last) {
  const auto events = view.events();
  snapshot.recorded = load_acquire(&view.recorder()->next);
  const auto count = std::min<std::uint64_t>({snapshot.recorded, events.size(), last});
  for (std::uint64_t back = 1; back <= count; ++back) {
    const std::uint64_t position = snapshot.recorded - back;
    const auto& shared = events[static_cast<std::size_t>(position % events.size())];
    EventEntry entry{.whole = false, .event = copy_of(&shared)};
    entry.whole = entry.event.sequence == position + 1 && load_acquire(&shared.sequence) == position + 1;
    snapshot.events.push_back(entry);
  }
}

}  // namespace

Snapshot take_snapshot(const SegmentImage& image, const SnapshotOptions& options) {
  Snapshot snapshot;
  snapshot.label = image.source().label;
  snapshot.live = image.source().live;
  snapshot.taken_ns = now_ns();
  const auto bytes = image.bytes();
  if (bytes.size() < sizeof snapshot.header) {
    snapshot.fault =
        Error{Status::segment_invalid, "not a segment: " + std::to_string(image.total_size()) +
                                           " bytes, and a header alone has " + std::to_string(sizeof snapshot.header)};
    return snapshot;
  }
  const auto* shared = reinterpret_cast<const rde_segment_header*>(bytes.data());
  load_acquire(&shared->ready);
  snapshot.header = copy_of(shared);
  if (auto checked = check_header(snapshot.header, image.total_size()); !checked) {
    snapshot.fault = checked.error();
    return snapshot;
  }
  const auto& header = snapshot.header;
  if (bytes.size() < header.arena_offset) {
    snapshot.fault =
        Error{Status::segment_invalid, "the segment ends after " + std::to_string(bytes.size()) + " of the " +
                                           std::to_string(header.arena_offset) + " bytes that lie before its arena"};
    return snapshot;
  }
  const SegmentView view(bytes, header);
  snapshot.engine = copy_of(view.engine_page());
  snapshot.client = copy_of(view.client_page());
  for (std::uint32_t i = 0; i <= header.shard_count; ++i) {
    snapshot.doorbells.push_back(take_doorbell(view.shard_doorbell(i), header.channel_count));
    if (i < header.shard_count) snapshot.doorbells.back().shard = i;
  }
  for (std::uint32_t i = 0; i < header.channel_count; ++i) {
    snapshot.channels.push_back(take_channel(view, i, options.last));
  }
  for (const auto& counter : view.counters()) {
    const auto copy = copy_of(&counter);
    if (copy.label[0] != 0) snapshot.counters.push_back(copy);
  }
  take_events(snapshot, view, options.last);
  return snapshot;
}

}  // namespace rde::tools
