// Waking a reader that sleeps: the two sides of a doorbell (docs/rings.md, "Sleeping").
//
//   Ringer ringer(bell);                                    // writer
//   ring.write(slot); full_fence();
//   if (load_relaxed(&lines->request_cold) && ringer.ring(channel)) wake(fd);
//
//   Sleeper sleeper(bell);                                  // reader
//   sleeper.announce();
//   if (anything_ready()) sleeper.wake(); else { block(); sleeper.wake(); }
//   sleeper.take([&](unsigned channel) { poll(channel); });
#pragma once

#include <bit>
#include <cstdint>

#include "base/atomic.h"
#include "rde_layout.h"

namespace rde {

class Ringer {
 public:
  explicit Ringer(rde_doorbell* bell) : bell_(bell) {}

  // Notes news of a cold ring; true when the reader sleeps and has to be woken by the caller. The news
  // was published, and a full fence made, before. One thread at a time.
  bool ring(std::uint32_t channel) {
    fetch_or_seq_cst(&bell_->bits[(channel / 64) % 64], std::uint64_t{1} << (channel % 64));
    // SYNC POINT doorbell: this load comes after the bit; Sleeper::announce stores before it looks at the bits.
    const std::uint32_t generation = load_seq_cst(&bell_->sleep);
    if ((generation & 1U) == 0 || generation == last_woken_) return false;
    last_woken_ = generation;
    store_seq_cst(&bell_->woken, generation);
    return true;
  }

 private:
  rde_doorbell* bell_;
  std::uint32_t last_woken_ = 0;
};

class Sleeper {
 public:
  // `channels`: how many bits count, 1 to RDE_MAX_CHANNELS.
  Sleeper(rde_doorbell* bell, std::uint32_t channels)
      : bell_(bell),
        words_((channels + 63) / 64),
        last_word_(channels % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (channels % 64)) - 1) {}

  // From here on a ringer wakes us. The caller then looks at its rings once more before it blocks.
  void announce() {
    store_seq_cst(&bell_->sleep, ++generation_);
    full_fence();  // SYNC POINT doorbell: pairs with Ringer::ring
  }
  void wake() { store_seq_cst(&bell_->sleep, ++generation_); }

  [[nodiscard]] bool any() const {
    for (std::uint32_t i = 0; i < words_; ++i) {
      if ((load_seq_cst(&bell_->bits[i]) & mask(i)) != 0) return true;
    }
    return false;
  }

  // Whether some ringer has woken, or is about to wake, this sleep. A sleep that ended by its cap, found work, and was
  // not rung, lost a wake-up; but a ringer that was held up between its bit and its ring looks the same for a moment.
  [[nodiscard]] bool rung() const { return load_seq_cst(&bell_->woken) == generation_; }

  // Calls visit(channel) for every bit, and clears it. Bits behind the last channel are dropped.
  template <class Visit>
  unsigned take(Visit visit) {
    unsigned taken = 0;
    for (std::uint32_t i = 0; i < words_; ++i) {
      if (load_relaxed(&bell_->bits[i]) == 0) continue;
      std::uint64_t bits = exchange_seq_cst(&bell_->bits[i], std::uint64_t{0}) & mask(i);
      for (; bits != 0; bits &= bits - 1) {
        visit(i * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
        ++taken;
      }
    }
    return taken;
  }

  void count_sleep() { store_relaxed(&bell_->sleeps, ++sleeps_); }
  void count_late_wakeup() { store_relaxed(&bell_->late_wakeups, ++late_wakeups_); }

 private:
  [[nodiscard]] std::uint64_t mask(std::uint32_t word) const {
    return word + 1 == words_ ? last_word_ : ~std::uint64_t{0};
  }

  rde_doorbell* bell_;
  std::uint32_t words_;
  std::uint64_t last_word_;
  std::uint32_t generation_ = 0;
  std::uint64_t sleeps_ = 0;
  std::uint64_t late_wakeups_ = 0;
};

}  // namespace rde
