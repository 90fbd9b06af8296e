// What is in the send queue of a queue pair. A completion stands for everything posted before it. Pure.
//
//   auto sequence = ledger.add({.frame = 3});                    // room() was not 0
//   ledger.complete(sequence, [](const SendEntry& entry) {});    // in order, up to and with it
#pragma once

#include <array>
#include <cstdint>

#include "transport/verbs/verbs_limits.h"

namespace rde {

struct VerbsDelivery;

struct SendEntry {
  static constexpr std::uint16_t kNoFrame = 0xFFFF;
  std::uint16_t frame = kNoFrame;  // to be taken back
  bool is_heartbeat = false;
  VerbsDelivery* delivery = nullptr;  // whose last write this is
};

class SendLedger {
 public:
  static constexpr std::uint32_t kSequenceMask = 0x7FFFFFFF;

  [[nodiscard]] std::uint32_t size() const { return head_ - tail_; }
  [[nodiscard]] std::uint32_t room() const { return kSendDepth - size(); }

  std::uint32_t add(const SendEntry& entry) {
    entries_[head_ % kSendDepth] = entry;
    return head_++ & kSequenceMask;
  }

  // False for a sequence that is not under way.
  template <class Handle>
  bool complete(std::uint32_t sequence, Handle handle) {
    const std::uint32_t count = ((sequence - tail_) & kSequenceMask) + 1;
    if (count > size()) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const SendEntry entry = entries_[tail_ % kSendDepth];
      ++tail_;
      handle(entry);
    }
    return true;
  }

 private:
  static_assert((kSendDepth & (kSendDepth - 1)) == 0, "positions stay right when the counters wrap");
  std::array<SendEntry, kSendDepth> entries_{};
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace rde
