// Session records in pages that are made when they are first needed, and the wheel of their time. Not locked: its user
// holds the lock.
//
//   SessionSlab slab(most, now);
//   const auto index = slab.take(now);
//   slab.at(index).expires = now + timeout;
//   slab.schedule(index);
//   slab.advance(now, 256, [](std::uint32_t expired) { … });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session/session_record.h"

namespace rde {

class SessionSlab {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // `most` records at once, at the most.
  SessionSlab(std::uint32_t most, Nanoseconds now);

  // A record that nobody uses, of a new generation; kNone when all are in use, or no memory is left. What has expired
  // is remembered for a minute where that is possible, so that its user learns why it is gone.
  std::uint32_t take(Nanoseconds now);
  // The record's state says how it ended.
  void give_back(std::uint32_t index);

  [[nodiscard]] bool has(std::uint32_t index) const { return index < made_; }
  [[nodiscard]] SessionRecord& at(std::uint32_t index) { return pages_[index / kPage]->records[index % kPage]; }

  void schedule(std::uint32_t index);
  void unschedule(std::uint32_t index);
  // Calls expire(index), which unschedules it, for what is due. Looks at `most` records; true where some are left.
  template <class Expire>
  bool advance(Nanoseconds now, unsigned most, Expire expire) {
    for (;;) {
      while (heads_[kPending].next != kPending) {
        if (most-- == 0) return true;
        const std::uint32_t index = heads_[kPending].next - kHeads;
        if (at(index).expires <= now) {
          expire(index);
        } else {
          unschedule(index);
          schedule(index);
        }
      }
      if (!next_slot(now)) return false;
    }
  }

  // Bytes of all records made so far.
  [[nodiscard]] std::size_t memory() const { return pages_.size() * sizeof(Page); }

 private:
  static constexpr std::uint32_t kPage = 1024;
  static constexpr std::uint32_t kSlots = 4096;
  static constexpr std::uint32_t kPending = kSlots;  // records of the slot that is being looked through
  static constexpr std::uint32_t kHeads = kSlots + 1;

  struct Page {
    std::array<SessionRecord, kPage> records;
  };

  auto timers() {
    return [this](std::uint32_t id) -> SessionLink& { return id < kHeads ? heads_[id] : at(id - kHeads).timer; };
  }
  bool next_slot(Nanoseconds now);
  std::uint32_t make_record();
  std::uint32_t take_expired();

  std::uint32_t most_;
  std::uint32_t made_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;
  std::uint32_t free_ = kNone;     // last in, first out: the line is still in the cache
  std::uint32_t expired_ = kNone;  // first in, first out
  std::uint32_t last_expired_ = kNone;
  std::array<SessionLink, kHeads> heads_;
  std::uint64_t tick_;
  std::size_t scheduled_ = 0;
};

}  // namespace rde
