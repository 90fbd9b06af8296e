// One channel of an attached client: submit, reap, and the credits between them (docs/rings.md).
//
//   Channel& channel = client->channel(0);
//   rde_request request{.op = RDE_OP_NOP};
//   auto tag = channel.submit(request, /*user=*/7);
//   Reaped reaped;
//   while (!channel.reap(reaped)) cpu_relax();         // reaped.user == 7
//
// One thread at a time uses a channel. It never blocks and makes no system call, but for the wake of an engine that
// sleeps.
#pragma once

#include <cstdint>
#include <vector>

#include "base/handle.h"
#include "base/status.h"
#include "ring/doorbell.h"
#include "ring/ring.h"
#include "segment/view.h"

namespace rde {

// A completion, checked against what was asked for.
struct Reaped {
  std::uint64_t tag = 0;
  std::uint64_t user = 0;  // what submit() was given
  Status status = Status::ok;
  std::uint16_t flags = 0;  // RDE_COMPLETION_FLAG_…
  std::uint32_t bytes = 0;  // never more than the request's length
  std::uint32_t crc = 0;
  std::uint64_t value = 0;
  bool ends = false;            // the caller has its answer now
  bool returns_buffer = false;  // the buffer is the caller's again
};

class Channel {
 public:
  // `shard_event` is borrowed: the eventfd that wakes the channel's shard.
  Channel(const SegmentView& view, std::uint32_t index, int shard_event);

  // Fills in tag and lap, and publishes. Errors: ring_full (reap first), ring_broken (see faulted()), engine_broken.
  Result<std::uint64_t> submit(rde_request request, std::uint64_t user = 0) {
    auto tag = stage(request, user);
    if (tag) flush();
    return tag;
  }
  // The same without the wake-up of a sleeping engine, for batches; end a batch with flush().
  Result<std::uint64_t> stage(rde_request request, std::uint64_t user = 0) {
    if (!publish(request, user, reserved_)) [[unlikely]]
      return why_not();
    return request.tag;
  }
  void flush() {
    store_relaxed(&lines_->requests_posted, requests_.position());
    full_fence();  // SYNC POINT cold: the engine makes the ring cold, fences, and looks at it once more
    if (load_relaxed(&lines_->request_cold) != 0) [[unlikely]]
      ring_engine();
  }

  // Asks to end a request; its completion tells how it ended. Uses a reserved credit. Errors: ring_full.
  Result<std::uint64_t> cancel(std::uint64_t tag);

  // Takes the next completion; false when there is none. A completion for nothing that is outstanding breaks the
  // engine: broken() is then true and nothing more is taken.
  bool reap(Reaped& reaped) {
    rde_completion completion;
    if (broken_ || !completions_.read(completion)) return false;
    broken_ = !accept(completion, reaped);
    return !broken_;
  }
  [[nodiscard]] bool ready() const { return completions_.ready(); }
  [[nodiscard]] bool broken() const { return broken_; }
  // Whether the engine has shut the channel because a rule of the ring was broken. It takes nothing more; what it took
  // before may still complete.
  [[nodiscard]] bool faulted() const { return load_acquire(&lines_->state) == RDE_CHANNEL_STATE_FAULTED; }

  // Fails what is outstanding or quarantined, one at a time, with `status`, after the engine has gone; false when
  // nothing is left. The channel is broken() from then on.
  bool fail_next(Status status, Reaped& reaped);

  [[nodiscard]] std::uint32_t outstanding() const { return outstanding_; }
  [[nodiscard]] std::uint32_t quarantined() const { return quarantined_; }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] rde_channel_lines* lines() const { return lines_; }

 private:
  enum class EntryState : std::uint8_t { free, outstanding, quarantined };
  struct Entry {
    std::uint64_t user = 0;
    std::uint32_t generation = 0;
    std::uint32_t length = 0;
    std::uint32_t next_free = 0;
    EntryState state = EntryState::free;
  };

  static constexpr std::uint32_t kFew = 4;  // outstanding; with more, requests come in batches

  [[nodiscard]] bool has_credit(std::uint32_t reserved) const {
    const std::uint32_t used = outstanding_ + reserved;
    return used < depth_ && 2 * (used + 1) + quarantined_ <= completion_depth_ && first_free_ < completion_depth_;
  }
  [[nodiscard]] Error why_not() const;
  bool publish(rde_request& request, std::uint64_t user, std::uint32_t reserved);
  bool accept(const rde_completion& completion, Reaped& reaped);
  void ring_engine();

  RingWriter<rde_request> requests_;
  RingReader<rde_completion> completions_;
  rde_channel_lines* lines_;
  Ringer engine_;
  int shard_event_;
  std::uint32_t index_;
  std::uint32_t depth_;
  std::uint32_t completion_depth_;
  std::uint32_t reserved_;
  std::uint32_t outstanding_ = 0;
  std::uint32_t quarantined_ = 0;
  std::uint32_t first_free_ = 0;
  std::uint32_t fail_at_ = 0;
  bool broken_ = false;
  std::vector<Entry> entries_;
};

// What every operation passes through stands here, so that it becomes part of the caller's loop.

// Fills in the tag; false where why_not() has the reason.
inline bool Channel::publish(rde_request& request, std::uint64_t user, std::uint32_t reserved) {
  if (broken_ || faulted() || !has_credit(reserved)) [[unlikely]]
    return false;
  const std::uint32_t index = first_free_;
  auto& entry = entries_[index];
  first_free_ = entry.next_free;
  if (++entry.generation == 0) ++entry.generation;
  entry.user = user;
  entry.length = request.length;
  entry.state = EntryState::outstanding;
  ++outstanding_;
  request.tag = Handle{index, entry.generation}.value();
  requests_.write(request);
  if (outstanding_ > kFew) requests_.prepare();
  return true;
}

// False for a completion that nothing outstanding can have.
inline bool Channel::accept(const rde_completion& completion, Reaped& reaped) {
  const auto tag = Handle::from(completion.tag);
  if (tag.index >= entries_.size()) return false;
  auto& entry = entries_[tag.index];
  if (entry.generation != tag.generation || completion.bytes > entry.length) return false;
  const bool more = (completion.flags & RDE_COMPLETION_FLAG_MORE) != 0;
  const bool buffer_free = (completion.flags & RDE_COMPLETION_FLAG_BUFFER_FREE) != 0;
  const auto wanted = buffer_free ? EntryState::quarantined : EntryState::outstanding;
  if (entry.state != wanted || (more && buffer_free)) return false;

  reaped = {.tag = completion.tag,
            .user = entry.user,
            .status = Status{completion.status},
            .flags = completion.flags,
            .bytes = completion.bytes,
            .crc = completion.crc,
            .value = completion.value,
            .ends = !buffer_free,
            .returns_buffer = !more};
  buffer_free ? --quarantined_ : --outstanding_;
  if (more) {
    ++quarantined_;
    entry.state = EntryState::quarantined;
  } else {
    entry.state = EntryState::free;
    entry.next_free = first_free_;
    first_free_ = tag.index;
  }
  store_relaxed(&lines_->completions_reaped, completions_.position());
  return true;
}

}  // namespace rde
