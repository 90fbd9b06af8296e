// What the slots of a ring tell by themselves: how far it was written, and its latest entries.
//
//   RingScan scan = scan_ring(view.requests(0), header.depth, cursor);
//   auto entry = copy_slot(view.requests(0) + scan.slot_before(1));    // the newest
//
// The ring may be written at any moment, and by somebody hostile: every number that comes out is in range.
#pragma once

#include <bit>
#include <cstdint>

#include "base/atomic.h"
#include "ring/ring.h"

namespace rde::tools {

struct RingScan {
  std::uint64_t written = 0;    // position of the next slot to be written
  std::uint32_t odd_slots = 0;  // slots whose lap fits no ring: garbage, or torn
};

template <class Slot>
std::uint32_t lap_of_slot(const Slot& slot) {
  return load_acquire(&slot.lap);
}

// `near` is a published cursor: it widens the answer, as a slot holds only the low 32 bits of its lap.
template <class Slot>
RingScan scan_ring(const Slot* slots, std::uint32_t count, std::uint64_t near) {
  const std::uint32_t first = lap_of_slot(slots[0]);
  // Slots of one moment have two laps at most, the newer ones in front; slots written while we look may be one ahead.
  std::uint32_t newest = 0;
  std::int32_t newest_lap = 0;
  RingScan scan;
  for (std::uint32_t i = 1; i < count; ++i) {
    const auto ahead = static_cast<std::int32_t>(lap_of_slot(slots[i]) - first);
    if (ahead < -1 || ahead > 1) {
      ++scan.odd_slots;
    } else if (ahead >= newest_lap) {
      newest = i;
      newest_lap = ahead;
    }
  }
  const auto shift = static_cast<unsigned>(std::countr_zero(count));
  const std::uint32_t lap = first + static_cast<std::uint32_t>(newest_lap);
  const std::uint64_t low = (std::uint64_t{lap - 1} << shift) + newest + 1;
  const unsigned spare = 32 - shift;  // bits of a position that the slots do not tell
  const auto difference = static_cast<std::int64_t>((low - near) << spare) >> spare;
  scan.written = near + static_cast<std::uint64_t>(difference);
  return scan;
}

template <class Slot>
struct SlotCopy {
  Slot slot{};
  bool stable = false;  // its lap was the same before and after the copy
};

template <class Slot>
SlotCopy<Slot> copy_slot(const Slot& slot) {
  const auto* from = reinterpret_cast<const std::uint64_t*>(&slot);
  std::uint64_t words[kSlotWords<Slot>];
  // Each load acquires, so the second look at the lap comes after all others.
  for (std::size_t i = 0; i < kSlotWords<Slot>; ++i) words[i] = load_acquire(&from[i]);
  SlotCopy<Slot> copy;
  __builtin_memcpy(&copy.slot, words, sizeof copy.slot);
  copy.stable = lap_of_slot(slot) == copy.slot.lap;
  return copy;
}

}  // namespace rde::tools
