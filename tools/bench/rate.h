// Operations a second, in windows.
//
//   auto rate = windows_of(length, watch, [&] { return done_; }, [&] { return turn(); });
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/switch_watch.h"

namespace rde::tools {

struct Rate {
  std::vector<double> samples;  // operations a second, of one window each
  unsigned dropped = 0;         // windows in which a side was off its processor
};

// Few enough that most windows have no time in them during which one side did not run.
inline constexpr std::uint64_t kOperationsPerWindow = 4096;

// Calls turn() for `length`; done() tells how many operations have ended so far. Errors: those of turn().
template <class Done, class Turn>
Result<Rate> windows_of(Nanoseconds length, SwitchWatch* watch, Done done, Turn turn) {
  Rate rate;
  const Nanoseconds end = now_ns() + length;
  if (watch != nullptr) (void)watch->switched();
  std::uint64_t before = done();
  for (Nanoseconds start = now_ns(); start < end;) {
    if (auto turned = turn(); !turned) return turned.error();
    const Nanoseconds now = now_ns();
    if (done() - before < kOperationsPerWindow) {
      if (now < end) continue;
      if (!rate.samples.empty() || done() == before) break;
    }
    if (watch != nullptr && watch->switched()) {
      ++rate.dropped;
    } else {
      rate.samples.push_back(static_cast<double>(done() - before) * 1e9 / static_cast<double>(now - start));
    }
    before = done();
    start = now_ns();
  }
  return rate;
}

}  // namespace rde::tools
