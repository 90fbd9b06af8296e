// Ends the test program when a test that could hang does.
//
//   const Watchdog watchdog;
#pragma once

#include <unistd.h>

namespace rde::test {

class Watchdog {
 public:
  explicit Watchdog(unsigned seconds = 600) { ::alarm(seconds); }  // SIGALRM kills the program
  ~Watchdog() { ::alarm(0); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
};

}  // namespace rde::test
