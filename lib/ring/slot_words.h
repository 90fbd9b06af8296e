// Slots as the whole words that travel through a ring. Field by field, so that a slot that was just filled in goes
// there from registers: reading it back as words, right after bytes of it were stored, would stall the processor.
//
//   std::uint64_t words[kSlotWords<rde_request>];
//   pack(request, words);         // word 0 holds the lap in its low half, and leaves it 0
//   unpack(words, request);
#pragma once

#include <cstddef>
#include <cstdint>

#include "rde_layout.h"

namespace rde {

template <class Slot>
inline constexpr std::size_t kSlotWords = sizeof(Slot) / sizeof(std::uint64_t);

// Any other slot whose first word has the lap in its low half.
template <class Slot>
void pack(const Slot& slot, std::uint64_t (&words)[kSlotWords<Slot>]) {
  __builtin_memcpy(words, &slot, sizeof slot);
  words[0] &= ~std::uint64_t{0xFFFFFFFF};
}
template <class Slot>
void unpack(const std::uint64_t (&words)[kSlotWords<Slot>], Slot& slot) {
  __builtin_memcpy(&slot, words, sizeof slot);
}

inline void pack(const rde_request& slot, std::uint64_t (&words)[kSlotWords<rde_request>]) {
  words[0] = std::uint64_t{slot.op} << 32 | std::uint64_t{slot.flags} << 40 | std::uint64_t{slot.priority} << 48 |
             std::uint64_t{slot.reserved} << 56;
  words[1] = slot.tag;
  words[2] = slot.handle;
  words[3] = slot.deadline_ns;
  words[4] = slot.buffer_page | std::uint64_t{slot.length} << 32;
  __builtin_memcpy(&words[5], slot.args, sizeof words[5]);
  __builtin_memcpy(&words[6], slot.args + 8, sizeof words[6]);
  __builtin_memcpy(&words[7], slot.args + 16, sizeof words[7]);
}

inline void unpack(const std::uint64_t (&words)[kSlotWords<rde_request>], rde_request& slot) {
  slot.lap = static_cast<std::uint32_t>(words[0]);
  slot.op = static_cast<std::uint8_t>(words[0] >> 32);
  slot.flags = static_cast<std::uint8_t>(words[0] >> 40);
  slot.priority = static_cast<std::uint8_t>(words[0] >> 48);
  slot.reserved = static_cast<std::uint8_t>(words[0] >> 56);
  slot.tag = words[1];
  slot.handle = words[2];
  slot.deadline_ns = words[3];
  slot.buffer_page = static_cast<std::uint32_t>(words[4]);
  slot.length = static_cast<std::uint32_t>(words[4] >> 32);
  __builtin_memcpy(slot.args, &words[5], sizeof slot.args);
}

inline void pack(const rde_completion& slot, std::uint64_t (&words)[kSlotWords<rde_completion>]) {
  words[0] = std::uint64_t{slot.status} << 32 | std::uint64_t{slot.flags} << 48;
  words[1] = slot.tag;
  words[2] = slot.bytes | std::uint64_t{slot.crc} << 32;
  words[3] = slot.value;
}

inline void unpack(const std::uint64_t (&words)[kSlotWords<rde_completion>], rde_completion& slot) {
  slot.lap = static_cast<std::uint32_t>(words[0]);
  slot.status = static_cast<std::uint16_t>(words[0] >> 32);
  slot.flags = static_cast<std::uint16_t>(words[0] >> 48);
  slot.tag = words[1];
  slot.bytes = static_cast<std::uint32_t>(words[2]);
  slot.crc = static_cast<std::uint32_t>(words[2] >> 32);
  slot.value = words[3];
}

}  // namespace rde
