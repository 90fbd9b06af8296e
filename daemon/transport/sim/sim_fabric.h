// A scripted fabric inside one process: it moves real bytes between SimTransports, as fast, as late and
// as badly as the script says. It invents no data.
//
//   SimFabric fabric;
//   SimTransport storage(fabric), gateway(fabric);
//   fabric.set_pace({.latency = 5 * kMicrosecond, .bytes_per_second = 4'000'000'000});
//   fabric.hold_transfers(5 * kSecond);   // transfers begin in time and end five seconds late
//   fabric.kill(storage);                 // its peers notice after the pace's `detection`
//
// Time is what progress(now) of any transport was given last. One thread for the fabric and all of its
// transports; the fabric outlives them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/host_port.h"

namespace rde {

class SimTransport;

class SimFabric {
 public:
  struct Pace {
    Nanoseconds latency = 5 * kMicrosecond;    // one way
    std::uint64_t bytes_per_second = 0;        // of each link and direction; 0 = no limit
    Nanoseconds detection = 5 * kMillisecond;  // from a death to the survivors' on_down
    Nanoseconds connect_timeout = 3 * kSecond;
  };

  SimFabric() = default;
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  // For what is sent from now on.
  void set_pace(const Pace& pace) { pace_ = pace; }
  // Transfers that begin from now on take this much longer to end. 0 ends the effect.
  void hold_transfers(Nanoseconds extra) { hold_ = extra; }

  // A frozen transport handles nothing; its peers see silence, not an error.
  void freeze(SimTransport& transport);
  void thaw(SimTransport& transport);
  // The process died: all its links break; it accepts nothing more until revive().
  void kill(SimTransport& transport);
  void revive(SimTransport& transport);
  // Every link between the two breaks, on both sides.
  void cut(SimTransport& a, SimTransport& b);

  [[nodiscard]] Nanoseconds now() const { return now_; }

 private:
  friend class SimTransport;
  friend class SimLink;

  void advance_to(Nanoseconds now) { now_ = now > now_ ? now : now_; }
  SimTransport* listener_at(const SocketAddress& where) const;
  void join(SimTransport& transport) { transports_.push_back(&transport); }
  void leave(SimTransport& transport);

  Nanoseconds now_ = 0;
  Pace pace_;
  Nanoseconds hold_ = 0;
  std::uint64_t next_link_ = 1;
  std::uint16_t next_port_ = 20'000;
  std::vector<SimTransport*> transports_;
};

}  // namespace rde
