// What a storage reader has done. Written by its thread alone; read by any.
//
//   published.reads = counters.reads.load(std::memory_order_relaxed);
#pragma once

#include <atomic>
#include <cstdint>

namespace rde {

struct StorageCounters {
  using Word = std::atomic<std::uint64_t>;

  Word reads = 0;         // OBJECT_READ jobs that ended well
  Word stats = 0;         // OBJECT_STAT jobs that ended well
  Word bytes = 0;         // given to reads
  Word errors = 0;        // jobs that did not end well, for whatever reason
  Word crc_failures = 0;  // needles whose bytes did not match twice
  Word cache_hits = 0;    // reads that needed no look at the record
  Word verified = 0;      // needles whose bytes were found right for the first time
  Word rechecks = 0;      // times that the files of a volume had to be looked at again for a job
};

// For the one thread that writes: no locked instruction.
inline void count_up(StorageCounters::Word& word, std::uint64_t by = 1) {
  word.store(word.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace rde
