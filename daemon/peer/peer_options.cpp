#include "peer/peer_options.h"

#include "peer/protocol.h"

namespace rde {
namespace {

Result<void> in_range(const char* field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
  if (value >= least && value <= most) return {};
  return Error{Status::invalid_request, std::string("peer option ") + field + " is " + std::to_string(value) +
                                            ", set it to " + std::to_string(least) + " to " + std::to_string(most)};
}

}  // namespace

Result<void> check(const PeerOptions& options) {
  struct Field {
    const char* name;
    std::uint64_t value, least, most;
  };
  const Field fields[] = {
      {"psk (bytes of the key)", options.psk.size(), 0, 1024},
      {"slice", options.slice, 256 << 10, 1 << 20},
      {"slice_beside_small", options.slice_beside_small, 128 << 10, options.slice},
      {"slices_in_flight", options.slices_in_flight, 2, 4},
      {"small_read", options.small_read, 4096, options.slice},
      {"requests_in_flight", options.requests_in_flight, 8, wire::kMaxCredits},
      {"queued_jobs", options.queued_jobs, 1, 1 << 20},
      {"credits", options.credits, 8, wire::kMaxCredits},
      {"max_sessions", options.max_sessions, 1, 1 << 16},
      {"max_peers", options.max_peers, 1, 1 << 16},
      {"handshake_timeout", options.handshake_timeout, kMillisecond, 600 * kSecond},
      {"ping_interval", options.ping_interval, kMillisecond, 600 * kSecond},
      {"peer_timeout", options.peer_timeout, options.ping_interval * 2, 3600 * kSecond},
      {"reconnect_least", options.reconnect_least, kMillisecond, options.reconnect_most},
      {"default_budget", options.default_budget, kMillisecond, 3600 * kSecond},
  };
  for (const Field& field : fields) {
    if (auto checked = in_range(field.name, field.value, field.least, field.most); !checked) return checked;
  }
  return {};
}

}  // namespace rde
