// Tunables of engine-to-engine traffic, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace rde {

struct PeerOptions {
  // Without a key only loopback peers are accepted and opened. 1 to 1024 bytes.
  std::vector<std::byte> psk;
  std::string engine_version;
  std::string transport_version;
  std::uint64_t engine = 0;  // differs in each life of each engine; two sides with one value are the same engine

  std::uint64_t features = 0;  // that this engine serves: wire::kRegions; set by the hub

  // Large reads go in slices, few at a time: what is on the link already is what a small read waits for. Over TCP, from
  // files, slices of 1 MiB gave 2.1 GB/s, and a 4 KiB read beside them 1,100 µs at worst (99th percentile); slices of
  // 256 KiB gave 1.4 GB/s and 300 µs. So they are large, but not where there are small reads.
  std::uint32_t slice = 1 << 20;                    // bytes; 256 KiB to 1 MiB
  std::uint32_t slice_beside_small = 256 << 10;     // of reads that begin soon after a small one; 128 KiB to `slice`
  Nanoseconds small_is_recent = 20 * kMillisecond;  // that soon
  std::uint32_t slices_in_flight = 2;               // of one peer; 2 to 4
  std::uint32_t small_read = 64 << 10;              // up to here a read is small: one eager frame
  std::uint32_t requests_in_flight = 64;            // of one peer, slices included; 8 to 4096
  std::uint32_t queued_jobs = 4096;                 // of one peer, over that peer_busy

  // What a peer gets from this engine.
  std::uint32_t credits = 64;  // unanswered requests of one peer; 8 to 4096
  std::uint32_t max_sessions = 256;
  std::uint32_t max_peers = 256;  // that this engine connects to

  Nanoseconds handshake_timeout = 5 * kSecond;
  Nanoseconds ping_interval = 1 * kSecond;
  Nanoseconds peer_timeout = 15 * kSecond;  // of silence; then the link is closed
  // From one attempt to the next, doubled up to the most, 25 % jitter; never more than three a second.
  Nanoseconds reconnect_least = 500 * kMillisecond;
  Nanoseconds reconnect_most = 5 * kSecond;
  Nanoseconds default_budget = 30 * kSecond;  // of a request that comes without one
};

// invalid_request; names the field, its value and its range.
Result<void> check(const PeerOptions& options);

}  // namespace rde
