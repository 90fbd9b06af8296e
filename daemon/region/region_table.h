// The regions that clients of this engine have exposed: who may reach which bytes of whose arena, and until when. A
// token holder names a region and its key; all that the region allows is known here alone.
//
//   RegionTable regions(epoch);
//   const auto exposed = regions.expose({.owner = client, .bytes = part, .rights = rights, .expires = then});
//   if (auto pin = regions.pin(token, right, offset, length, now); pin.status() == Status::ok) copy(pin.bytes());
//   regions.close(region, client, RegionEnd::revoked);          // nobody pins it any more
//   while (regions.is_pinned(region)) …                         // and when this ends, nobody touches its bytes
//
// Any thread, one table for all shards. pin() takes no lock while its region lives.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/handle.h"
#include "base/status.h"
#include "rde_layout.h"
#include "region/region_limits.h"

namespace rde {

enum class RegionEnd : std::uint8_t { none, revoked, expired, client_gone };

struct RegionGrant {
  std::uint64_t owner = 0;  // number of the client
  std::span<std::byte> bytes;
  std::uint32_t rights = 0;  // RDE_REGION_RIGHT_…
  Nanoseconds expires = 0;
};

struct RegionCounts {
  std::atomic<std::uint64_t> exposed{0};
  std::atomic<std::uint64_t> revoked{0};
  std::atomic<std::uint64_t> expired{0};
  std::atomic<std::uint64_t> ended{0};     // their client went
  std::atomic<std::uint64_t> refused{0};   // for a cap
  std::atomic<std::uint64_t> rejected{0};  // uses that a region did not allow
  std::atomic<std::uint64_t> read_bytes{0};
  std::atomic<std::uint64_t> written_bytes{0};
  std::atomic<std::uint64_t> atomics{0};
};

// Holds a region's bytes in place, and its owner's segment with them, as long as it lives. Make it short.
class RegionPin {
 public:
  explicit RegionPin(Status status) : status_(status) {}
  RegionPin(std::atomic<std::uint64_t>& gate, std::span<std::byte> bytes) : gate_(&gate), bytes_(bytes) {}
  RegionPin(RegionPin&& other) noexcept
      : status_(other.status_), gate_(std::exchange(other.gate_, nullptr)), bytes_(other.bytes_) {}
  RegionPin& operator=(RegionPin&&) = delete;
  // Release: whoever sees the count without this pin sees all that was done under it.
  ~RegionPin() {
    if (gate_ != nullptr) gate_->fetch_sub(1, std::memory_order_release);
  }
  // The same pin, of these bytes.
  [[nodiscard]] RegionPin of(std::span<std::byte> bytes) && {
    bytes_ = bytes;
    return std::move(*this);
  }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  Status status_ = Status::ok;
  std::atomic<std::uint64_t>* gate_ = nullptr;
  std::span<std::byte> bytes_;
};

class RegionTable {
 public:
  explicit RegionTable(std::uint64_t epoch, std::uint32_t most = kMostRegions) : epoch_(epoch), most_(most) {}

  struct Exposed {
    Status status = Status::ok;
    rde_region_token token{};
  };
  // Errors: too_many_regions, out_of_memory, system_error (no random numbers).
  Exposed expose(const RegionGrant& grant);

  // Of `length` bytes from `offset` on. Errors: region_not_found (also for a wrong key or another engine's token),
  // region_revoked, region_expired, region_denied, region_out_of_range.
  RegionPin pin(const rde_region_token& token, std::uint32_t rights, std::uint64_t offset, std::uint64_t length,
                Nanoseconds now);

  // Ends a region; is_pinned() tells when its last use is over. A region that has expired can still be revoked.
  // Errors: invalid_handle, stale_handle (it was revoked), permission_denied (another client's).
  Status close(Handle region, std::uint64_t owner, RegionEnd why);
  [[nodiscard]] bool is_pinned(Handle region) const;

  [[nodiscard]] std::uint64_t live() const { return live_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t most() const { return most_; }
  RegionCounts& counts() { return counts_; }

 private:
  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 63;
  static constexpr std::uint32_t kPage = 1024;

  // Written under the mutex, and only while closed and without pins; whoever has a pin reads it without.
  struct alignas(64) Record {
    std::atomic<std::uint64_t> gate{kClosed};  // kClosed, and the number of pins
    std::uint64_t owner = 0;
    std::byte* data = nullptr;
    std::uint64_t length = 0;
    Nanoseconds expires = 0;
    std::array<std::uint8_t, 16> key{};
    std::uint32_t generation = 0;
    std::uint8_t rights = 0;
    RegionEnd end = RegionEnd::none;
  };
  static_assert(sizeof(Record) == 64);

  [[nodiscard]] Record* find(std::uint32_t index) const;
  std::optional<std::uint32_t> take_free();
  RegionPin reject(Status status);
  Status why_closed(const Record& record, const rde_region_token& token);

  std::uint64_t epoch_;
  std::uint32_t most_;
  std::array<std::atomic<Record*>, kMostRegions / kPage> pages_{};
  std::atomic<std::uint64_t> live_{0};
  RegionCounts counts_;

  std::mutex mutex_;  // of what follows, and of the records
  std::vector<std::unique_ptr<Record[]>> owned_pages_;
  std::uint32_t used_ = 0;          // records that were ever used
  std::deque<std::uint32_t> free_;  // the one that ended first stands first
};

}  // namespace rde
