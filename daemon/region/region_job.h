// One use of a region, asked for by a client: here, or at the engine that exposed it.
#pragma once

#include <cstdint>
#include <span>

#include "object/job.h"
#include "rde_layout.h"

namespace rde {

// `buffer` is its memory: where a read puts the bytes, and where a write takes them from.
class RegionJob : public Job {
 public:
  enum class Kind : std::uint8_t { read, write, fetch_add, compare_swap, flush };

  // Request.
  Kind kind = Kind::read;
  rde_region_token token{};
  std::uint64_t offset = 0;  // in the region
  std::span<std::byte> buffer;
  std::uint64_t operand = 0;  // what is added, or what the word becomes
  std::uint64_t compare = 0;  // compare_swap: what it must be
  bool is_cancelled = false;  // of a use inside the engine: LocalRegions ends it at its turn

  // Answer, valid in on_done; nothing says how much of a transfer that failed was done.
  std::uint64_t value = 0;  // fetch_add, compare_swap: what the word was

  // It may change the region, so a FLUSH behind it has to wait.
  [[nodiscard]] bool changes() const { return kind != Kind::read && kind != Kind::flush; }
  [[nodiscard]] bool is_transfer() const { return kind == Kind::read || kind == Kind::write; }

 protected:
  ~RegionJob() = default;
};

}  // namespace rde
