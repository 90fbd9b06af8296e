// Everything that a segment tells, copied once and checked, ready to be printed.
//
//   Snapshot snapshot = take_snapshot(image, {.last = 8});
//   if (snapshot.fault) complain(snapshot.fault->text);     // only the header was copied then
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "dump/image.h"
#include "rde_layout.h"

namespace rde::tools {

struct RingLevel {
  std::uint64_t written = 0;    // positions written, by the laps in the slots
  std::uint64_t read = 0;       // positions read, by the reader's published cursor (told once a batch)
  std::uint64_t waiting = 0;    // written and not read; never more than the slots
  std::uint32_t next_slot = 0;  // may be written at any moment: unstable
  std::uint32_t odd_slots = 0;  // slots whose lap fits no ring
};

struct RequestEntry {
  std::uint64_t position = 0;
  std::uint32_t slot = 0;
  bool stable = false;  // false: it was overwritten while it was copied
  bool taken = false;
  std::optional<std::uint16_t> answer;  // status of a completion with this tag that is still in the ring
  rde_request request{};
};

struct CompletionEntry {
  std::uint64_t position = 0;
  std::uint32_t slot = 0;
  bool stable = false;
  bool reaped = false;
  rde_completion completion{};
};

struct ChannelSnapshot {
  std::uint32_t index = 0;
  rde_channel_lines lines{};
  RingLevel requests;
  RingLevel completions;
  std::vector<RequestEntry> last_requests;  // newest first
  std::vector<CompletionEntry> last_completions;
  [[nodiscard]] bool is_unused() const { return requests.written == 0 && completions.written == 0; }
};

struct DoorbellSnapshot {
  std::optional<std::uint32_t> shard;  // none: the client's
  std::uint32_t sleep = 0;
  std::uint32_t woken = 0;
  std::uint64_t sleeps = 0;
  std::uint64_t late_wakeups = 0;
  std::vector<std::uint32_t> rung;  // channels whose bit is set
};

struct EventEntry {
  bool whole = false;  // false: overwritten meanwhile, or never finished
  rde_recorder_event event{};
};

struct Snapshot {
  std::string label;
  bool live = false;
  Nanoseconds taken_ns = 0;
  rde_segment_header header{};  // as found, where there were enough bytes
  std::optional<Error> fault;   // why nothing behind the header can be trusted
  rde_engine_page engine{};
  rde_client_page client{};
  std::vector<DoorbellSnapshot> doorbells;
  std::vector<ChannelSnapshot> channels;
  std::vector<rde_counter> counters;  // those that have a label
  std::uint64_t recorded = 0;         // events ever written
  std::vector<EventEntry> events;     // the latest, newest first
};

struct SnapshotOptions {
  std::uint32_t last = 8;  // requests, completions and events shown of each ring
};

Snapshot take_snapshot(const SegmentImage& image, const SnapshotOptions& options);

}  // namespace rde::tools
