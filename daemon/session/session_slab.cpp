#include "session/session_slab.h"

#include <algorithm>
#include <new>
#include <utility>

namespace rde {
namespace {

constexpr unsigned kTickBits = 24;  // a tick is 2^24 ns, about 17 ms; a round of the wheel takes 69 s
constexpr Nanoseconds kRemembered = 60 * kSecond;

std::uint64_t tick_of(Nanoseconds time) { return time >> kTickBits; }

}  // namespace

SessionSlab::SessionSlab(std::uint32_t most, Nanoseconds now) : most_(most), tick_(tick_of(now)) {
  for (std::uint32_t i = 0; i < kHeads; ++i) heads_[i] = {.next = i, .previous = i};
}

std::uint32_t SessionSlab::take(Nanoseconds now) {
  std::uint32_t index = kNone;
  if (free_ != kNone) {
    index = std::exchange(free_, at(free_).timer.next);
  } else if (expired_ != kNone && at(expired_).expires + kRemembered <= now) {
    index = take_expired();
  } else {
    index = make_record();
    if (index == kNone) index = take_expired();
  }
  if (index == kNone) return kNone;
  SessionRecord& record = at(index);
  const std::uint32_t generation = record.generation + 1 == 0 ? 1 : record.generation + 1;
  record = SessionRecord{};
  record.generation = generation;
  record.timer = {.next = index + kHeads, .previous = index + kHeads};
  record.siblings = {.next = index, .previous = index};
  return index;
}

std::uint32_t SessionSlab::take_expired() {
  const std::uint32_t index = expired_;
  if (index == kNone) return kNone;
  expired_ = at(index).timer.next;
  if (expired_ == kNone) last_expired_ = kNone;
  return index;
}

std::uint32_t SessionSlab::make_record() {
  if (made_ == most_) return kNone;
  if (made_ == pages_.size() * kPage) {
    std::unique_ptr<Page> page(new (std::nothrow) Page);
    if (!page) return kNone;
    pages_.push_back(std::move(page));
  }
  return made_++;
}

void SessionSlab::give_back(std::uint32_t index) {
  SessionRecord& record = at(index);
  if (record.state != SessionState::expired) {
    record.timer.next = std::exchange(free_, index);
    return;
  }
  record.timer.next = kNone;
  (last_expired_ == kNone ? expired_ : at(last_expired_).timer.next) = index;
  last_expired_ = index;
}

void SessionSlab::schedule(std::uint32_t index) {
  // One that is due already goes into the slot that is looked at next.
  const std::uint64_t tick = std::max(tick_of(at(index).expires), tick_) + 1;
  link_last(timers(), static_cast<std::uint32_t>(tick % kSlots), index + kHeads);
  ++scheduled_;
}

void SessionSlab::unschedule(std::uint32_t index) {
  unlink(timers(), index + kHeads);
  --scheduled_;
}

// Makes the next slot that has something the pending one; false when time has not come that far.
bool SessionSlab::next_slot(Nanoseconds now) {
  const std::uint64_t target = tick_of(now);
  if (scheduled_ == 0) tick_ = std::max(tick_, target);
  if (target > tick_ + kSlots) tick_ = target - kSlots;
  while (tick_ < target) {
    ++tick_;
    const auto slot = static_cast<std::uint32_t>(tick_ % kSlots);
    const SessionLink link = heads_[slot];
    if (link.next == slot) continue;
    const auto at = timers();
    heads_[kPending] = link;
    at(link.next).previous = kPending;
    at(link.previous).next = kPending;
    heads_[slot] = {.next = slot, .previous = slot};
    return true;
  }
  return false;
}

}  // namespace rde
