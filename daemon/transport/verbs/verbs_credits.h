// How many receives the other side has posted for us, and how many of ours it does not know of yet. Pure.
//
//   if (credits.may_send(1)) { credits.take(1); … }        // a frame, or a write with immediate
//   credits.owe(1);                                        // a receive was posted again
//   head.credits = credits.settle();                       // with every frame
//   if (!credits.give(head.credits)) …                     // the peer's; false: more than it has receives
#pragma once

#include <cstdint>
#include <utility>

#include "transport/verbs/verbs_limits.h"

namespace rde {

class VerbsCredits {
 public:
  VerbsCredits() = default;
  // `theirs`: receives that the peer has posted; `ours`: those of this side.
  VerbsCredits(std::uint32_t theirs, std::uint32_t ours) : limit_(theirs), available_(theirs), ours_(ours) {}

  [[nodiscard]] bool may_send(std::uint32_t count) const { return available_ >= count + kReservedCredits; }
  // A frame that returns credits may use what is kept back.
  [[nodiscard]] bool may_return() const { return available_ != 0; }
  void take(std::uint32_t count) { available_ -= count; }
  bool give(std::uint32_t count) {
    if (count > limit_ - available_) return false;
    available_ += count;
    return true;
  }

  void owe(std::uint32_t count) { owed_ += count; }
  std::uint16_t settle() { return static_cast<std::uint16_t>(std::exchange(owed_, 0U)); }
  // Enough that a frame for them alone is worth it, and early enough that the peer does not stall.
  [[nodiscard]] bool should_return() const { return owed_ != 0 && owed_ >= ours_ / 2; }
  [[nodiscard]] std::uint32_t available() const { return available_; }

 private:
  std::uint32_t limit_ = 0;
  std::uint32_t available_ = 0;
  std::uint32_t ours_ = 0;
  std::uint32_t owed_ = 0;
};

}  // namespace rde
