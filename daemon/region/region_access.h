// What an engine does to the bytes of a region, for a client of its own or for another engine: each call checks the
// token anew, and is over when it returns. Any thread.
//
//   const Status status = regions::read(table, token, {offset, rest}, to, now);
#pragma once

#include <cstdint>
#include <span>

#include "region/region_job.h"
#include "region/region_table.h"

namespace rde::regions {

// Where a step of a transfer begins, and how long the transfer is from there on: a transfer that does not wholly lie in
// the region fails before its first byte.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t rest = 0;  // not less than the step
};

// Statuses: those of RegionTable::pin().
Status read(RegionTable& table, const rde_region_token& token, const Place& at, std::span<std::byte> to,
            Nanoseconds now);
Status write(RegionTable& table, const rde_region_token& token, const Place& at, std::span<const std::byte> from,
             Nanoseconds now);

struct Word {
  Status status = Status::ok;
  std::uint64_t value = 0;  // what it was
};
// Sequentially consistent operations of the processor on the word itself, so they are atomic for every thread and
// process that has it mapped. More statuses: region_misaligned.
Word fetch_add(RegionTable& table, const rde_region_token& token, std::uint64_t offset, std::uint64_t add,
               Nanoseconds now);
Word compare_swap(RegionTable& table, const rde_region_token& token, std::uint64_t offset, std::uint64_t compare,
                  std::uint64_t swap, Nanoseconds now);
// Whether the token still names a region.
Status look(RegionTable& table, const rde_region_token& token, Nanoseconds now);

// The whole of a job at once. A transfer is to be short.
void carry_out(RegionTable& table, RegionJob& job, Nanoseconds now);

}  // namespace rde::regions
