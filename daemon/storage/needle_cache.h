// What is known of needles that were read before: enough to read their data without looking at the record again.
//
//   if (auto needle = cache.find(volume->instance(), entry.offset)) ...
//
// A fixed number of entries in sets of four; the oldest of a set makes room. Any thread; never allocates
// after it was made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace rde {

// A record that was checked against its index entry.
struct KnownNeedle {
  std::uint64_t instance = 0;  // of the Volume; 0 = nothing
  std::uint64_t offset = 0;    // of the record, as the index says
  std::uint64_t id = 0;
  std::uint64_t data_at = 0;        // where the data lies in the file
  std::uint64_t expires_at_ns = 0;  // since 1970; 0 = never
  std::uint32_t cookie = 0;
  std::uint32_t data_size = 0;
  std::uint32_t crc = 0;  // as stored; once verified, the CRC32C itself
  std::uint8_t flags = 0;
  bool verified = false;  // the data was read, and agreed with crc
  bool damaged = false;   // it was read twice, and did not
};

class NeedleCache {
 public:
  explicit NeedleCache(std::size_t entries);

  [[nodiscard]] std::optional<KnownNeedle> find(std::uint64_t instance, std::uint64_t offset) const;
  // Adds it, or replaces what was known of it.
  void put(const KnownNeedle& needle);
  void forget(std::uint64_t instance, std::uint64_t offset);

 private:
  static constexpr std::size_t kWays = 4;
  struct alignas(64) Set {
    mutable std::mutex lock;
    std::uint32_t next = 0;  // to be replaced
    std::array<KnownNeedle, kWays> ways;
  };

  [[nodiscard]] Set& set_of(std::uint64_t instance, std::uint64_t offset) const;

  std::size_t sets_;
  std::unique_ptr<Set[]> table_;
};

}  // namespace rde
