// A job on its way through a StorageReader, or a needle being verified for jobs. Private to the reader.
//
//   ready ─► checking ─► streaming ─► (verifying) ─► ended
//     ▲  ╲────known────────▲ │
//     └──── parked ◄─────────┘   the volume is looked at again
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "object/object_source.h"
#include "seaweed/index_entry.h"
#include "storage/needle_cache.h"
#include "storage/volume.h"

namespace rde {

// Sizes, with the reasons.
constexpr std::uint32_t kSlice = 128 * 1024;       // a part of a read: fits the L2 cache, for its CRC32C
constexpr std::uint32_t kWindow = 4;               // slices of one flight under way
constexpr std::uint32_t kRoundBytes = 256 * 1024;  // started at once: what a small read may have to wait for
constexpr std::uint32_t kVerifyLimit = 4 << 20;    // up to here, a range waits until its needle is verified
constexpr unsigned kVerifiers = 2;                 // needles verified at the same time by one reader
constexpr std::size_t kMaxBackground = 16;         // needles that wait to be verified though no job waits for it
constexpr std::size_t kTailGuess = 500;            // of a record's end read at first; longer metadata is rare
constexpr unsigned kMaxTries = 8;                  // looks at a volume whose files do not agree: about 0.3 s

class FlightList;

// One read of a flight, until all its bytes are there.
struct FlightRead {
  std::byte* to = nullptr;
  std::uint64_t at = 0;        // in the file
  std::uint64_t position = 0;  // in the data that the flight streams
  std::uint32_t length = 0;
  std::uint32_t done = 0;
  std::uint32_t retries = 0;
  bool active = false;
};

struct Flight {
  enum class Stage : std::uint8_t { ready, checking, streaming, verifying, parked };

  explicit Flight(std::uint32_t number) : index(number) {}
  // Back to how it was made; keeps the memory.
  void reset();
  // Forgets what was read: for another try.
  void rewind();

  const std::uint32_t index;
  Flight* previous = nullptr;
  Flight* next = nullptr;
  FlightList* list = nullptr;  // that it is in, if any

  ObjectJob* job = nullptr;
  bool in_use = false;
  bool verifies = false;  // there is no job: it reads a needle through, for others
  bool bulk = false;
  Stage stage = Stage::ready;
  Status verdict = Status::ok;  // another one: ends so once no read is under way

  std::shared_ptr<Volume> volume;
  IndexEntry entry;
  KnownNeedle needle;
  std::uint64_t seen_instance = 0;  // of the volume when it last did not match
  bool above_32g = false;           // the record is looked for 32 GiB higher
  bool cut_short = false;           // the file ended within a read
  bool has_reread = false;          // the bytes did not match once
  unsigned tries = 0;
  std::uint64_t ticket = 0;    // parked until the store has checked this
  Nanoseconds retry_at = 0;    // and this time has come
  Flight* verifier = nullptr;  // reads the needle through for this flight
  bool is_unverified = false;  // and nobody will

  std::array<FlightRead, kWindow> reads;
  std::uint32_t outstanding = 0;  // of them

  // Streaming: `length` bytes of data from `begin`.
  std::byte* to = nullptr;  // null: to the scratch memory, slice by slice
  std::byte* scratch = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
  std::uint64_t issued = 0;
  std::uint64_t ended = 0;
  std::uint32_t crc = 0;         // of the first `summed` bytes
  std::uint32_t others_crc = 0;  // what slices that ended out of order add to the whole
  std::uint64_t summed = 0;

  // Checking: the ends of the record.
  std::span<std::byte> tail;  // where it was read to
  std::array<std::byte, 20> head;
  std::array<std::byte, kTailGuess + 12> short_tail;
  std::unique_ptr<std::byte[]> long_tail;  // kMaxNeedleTail bytes, once one was needed
};

// First in, first out; a flight is in one list at most. Owns nothing.
class FlightList {
 public:
  [[nodiscard]] bool is_empty() const { return first_ == nullptr; }
  [[nodiscard]] Flight* front() const { return first_; }

  void push(Flight& flight) {
    flight.list = this;
    flight.previous = last_;
    flight.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &flight;
    last_ = &flight;
  }

  static void remove(Flight& flight) {
    FlightList* list = flight.list;
    if (list == nullptr) return;
    (flight.previous != nullptr ? flight.previous->next : list->first_) = flight.next;
    (flight.next != nullptr ? flight.next->previous : list->last_) = flight.previous;
    flight.list = nullptr;
  }

 private:
  Flight* first_ = nullptr;
  Flight* last_ = nullptr;
};

}  // namespace rde
