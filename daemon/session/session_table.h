// The sessions of an engine, from whichever door they were opened: one cap, one set of statistics.
//
//   SessionTable sessions({.most = 1'000'000, .timeout = 300 * kSecond, .slabs = shards + 1});
//   SessionOwner owner = sessions.add_owner(slab, uid, now);
//   const auto opened = sessions.open(owner, 0, 0, now);
//   const auto used = sessions.use(opened.session, owner, now);      // before each read in it
//   sessions.delivered(opened.session, bytes, crc, true);             // after it
//   const auto closed = sessions.close(opened.session, owner, report, now);
//
// Each thread that opens sessions has a slab of its own, so its lock is free but for the rare moment in which another
// thread uses one of those sessions. Any thread may call anything; expire() of a slab is for one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/handle.h"
#include "base/status.h"
#include "session/session_slab.h"

namespace rde {

inline constexpr Nanoseconds kLongestSession = 86'400 * kSecond;
inline constexpr std::uint64_t kMostSessions = 10'000'000;

struct SessionOptions {
  std::uint64_t most = 1000;
  Nanoseconds timeout = 300 * kSecond;  // of a session that names none
  unsigned slabs = 1;
};

// Whoever opens sessions: a client of the rings, or a connection to the older socket. When it goes, so do they.
struct SessionOwner {
  unsigned slab = 0;
  std::uint32_t record = SessionSlab::kNone;
  std::uint32_t uid = 0;
};

struct SessionReport {
  bool success = true;
  std::uint64_t bytes = 0;           // that the client took
  std::optional<std::uint32_t> crc;  // of them
};

struct SessionCounts {
  std::uint64_t created = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t expired = 0;
  std::uint64_t ended = 0;    // their client went
  std::uint64_t refused = 0;  // for the cap
  std::uint64_t bytes = 0;    // that reads in them delivered
  std::uint64_t memory = 0;   // of the table, in bytes
};

class SessionTable {
 public:
  explicit SessionTable(const SessionOptions& options);

  // `slab` is below SessionOptions::slabs. Without memory the owner is of no use: open() says so.
  SessionOwner add_owner(unsigned slab, std::uint32_t uid, Nanoseconds now);
  [[nodiscard]] bool has_sessions(const SessionOwner& owner) const;
  // Ends at most `most` of its sessions; true while some are left. After that the owner is forgotten.
  bool end_some(SessionOwner& owner, unsigned most);

  struct Opened {
    Status status = Status::ok;
    Handle session;
    Nanoseconds expires = 0;
  };
  // A timeout of 0 is the default. Errors: too_many_sessions, invalid_request (over kLongestSession), out_of_memory.
  Opened open(const SessionOwner& owner, Nanoseconds timeout, std::uint64_t peer, Nanoseconds now);

  struct Used {
    Status status = Status::ok;
    Handle peer;
  };
  // Errors: session_not_found, stale_handle, session_expired, permission_denied: sessions are shared by the clients of
  // one user, but one with a peer serves the reads of its owner alone, whose peer it is.
  Used use(Handle session, const SessionOwner& who, Nanoseconds now);
  // A session that has ended meanwhile takes no notice.
  void delivered(Handle session, std::uint64_t bytes, std::uint32_t crc, bool crc_known);

  struct Closed {
    Status status = Status::ok;
    std::uint32_t crc = 0;
    bool crc_known = false;
    std::uint64_t bytes = 0;
  };
  // Errors: as of use(), and crc_mismatch, upon which the session has ended as failed.
  Closed close(Handle session, const SessionOwner& who, const SessionReport& report, Nanoseconds now);

  // Ends what is over, a bounded number at once; true where some may be left. Costs next to nothing when called often.
  bool expire(unsigned slab, Nanoseconds now);

  [[nodiscard]] std::uint64_t most() const { return options_.most; }
  [[nodiscard]] Nanoseconds timeout() const { return options_.timeout; }
  [[nodiscard]] std::uint64_t live() const { return live_.load(std::memory_order_relaxed); }
  [[nodiscard]] SessionCounts counts() const;

 private:
  struct alignas(64) Shelf {
    Shelf(std::uint32_t most, Nanoseconds now) : slab(most, now) {}
    mutable std::mutex mutex;
    SessionSlab slab;
    SessionCounts counts;
    // Of the thread that expires.
    std::uint64_t looked = 0;
    bool more = false;
  };
  struct Found {
    Shelf* shelf = nullptr;
    std::uint32_t index = 0;
    std::unique_lock<std::mutex> lock;
    Status status = Status::ok;
  };

  [[nodiscard]] Handle handle_of(unsigned slab, std::uint32_t index, std::uint32_t generation) const;
  Found find(Handle session);
  Found find_open(Handle session, std::uint32_t uid, Nanoseconds now);
  bool reserve();
  void end(Shelf& shelf, std::uint32_t index, SessionState state);

  SessionOptions options_;
  unsigned slab_bits_;
  std::vector<std::unique_ptr<Shelf>> shelves_;
  alignas(64) std::atomic<std::uint64_t> live_{0};
};

}  // namespace rde
