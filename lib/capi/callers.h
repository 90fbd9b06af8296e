// Calls that wait for their answer, from any thread: each takes a channel of its own out of a pool for its time.
//
//   auto answer = callers.call("nop", request, timeout_ns);
//   auto answer = callers.call("read", request, timeout_ns, &page);     // a buffer that Loans::begin() marked
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/loans.h"
#include "client/client.h"

namespace rde::capi {

constexpr Nanoseconds kDefaultTimeout = 30 * kSecond;

// When a call that may take so long has to end; 0 means the default.
Nanoseconds deadline_after(std::uint64_t timeout_ns);

class Callers {
 public:
  // Uses the channels from `first` on.
  Callers(Client& client, Loans& loans, std::uint32_t first);

  // Ends the page's use when the engine has let go of it: at once, or on a later call. Every status but ok is an error.
  // Errors: ring_full (all channels busy), ring_broken (all faulted), engine_gone, engine_broken, and the engine's own.
  Result<Reaped> call(std::string_view name, const rde_request& request, std::uint64_t timeout_ns,
                      std::optional<std::uint32_t> page = std::nullopt);

  // Takes the returns of buffers that have come meanwhile on channels that are not in use.
  void collect();

 private:
  struct Caller {
    Channel* channel = nullptr;
    // Requests that ended without their buffer, by tag.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> held;
  };

  Result<Caller*> acquire(Nanoseconds deadline);
  void give_back(Caller* caller);
  void settle(Caller& caller, const Reaped& reaped);

  Client& client_;
  Loans& loans_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Caller> callers_;
  std::vector<Caller*> free_;
  std::size_t usable_;
};

}  // namespace rde::capi
