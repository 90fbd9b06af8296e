// Whether the two sides of a measure kept their processors. A window in which one of them did not tells about the
// machine's other work, not about the measure.
//
//   SwitchWatch watch(engine->pid());
//   for (…) { window(); if (watch.switched()) ++dropped; }
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/descriptor.h"

namespace rde::tools {

class SwitchWatch {
 public:
  // Of the calling thread, and of that thread of process `other` which has used most processor time so far; 0: none.
  explicit SwitchWatch(pid_t other);

  // Since the last call, or the start. Owner thread only; two system calls.
  bool switched();

 private:
  [[nodiscard]] std::uint64_t count() const;

  Descriptor other_;
  std::uint64_t last_ = 0;
};

// The numbers of a thread's schedstat: time on a processor and time waiting for one, both in ns, and turns. The turns;
// 0 where it is none.
std::uint64_t turns_of(const std::string& schedstat);

}  // namespace rde::tools
