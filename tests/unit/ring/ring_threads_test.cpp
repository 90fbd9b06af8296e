#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "rde_layout.h"
#include "ring/ring.h"
#include "segment/view.h"
#include "slot_memory.h"
#include "support/scale.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

// Long enough for many laps, short where other processes want the processors.
constexpr std::uint64_t kHandOvers = 100'000 * kScale;
constexpr Nanoseconds kTime = kSecond;
constexpr std::uint64_t kLast = ~std::uint64_t{0};

// As many copies of a counter as a slot of 64 bytes has room for.
struct Copies {
  std::uint32_t lap;
  std::uint32_t first;
  std::uint64_t rest[7];
};

Copies copies_of(std::uint64_t number) {
  Copies slot{.lap = 0, .first = static_cast<std::uint32_t>(number), .rest = {}};
  for (auto& copy : slot.rest) copy = number;
  return slot;
}

bool all_copies_are(const Copies& slot, std::uint64_t number) {
  bool good = slot.first == static_cast<std::uint32_t>(number);
  for (const auto copy : slot.rest) good = good && copy == number;
  return good;
}

template <class Done>
void until(Done done) {
  for (unsigned turn = 0; !done(); ++turn) {
    if (turn % 64 == 63) {
      sched_yield();
    } else {
      cpu_relax();
    }
  }
}

}  // namespace

TEST_CASE("no slot arrives torn, stale or out of order at another thread") {
  const Watchdog watchdog(120);
  for (const std::uint32_t slots : {2U, 64U}) {
    CAPTURE(slots);
    SlotMemory<Copies> memory(slots);
    alignas(64) std::uint64_t consumed = 0;
    std::thread writing([&] {
      RingWriter<Copies> writer(memory.slots(), slots);
      const Nanoseconds end = now_ns() + kTime;
      for (std::uint64_t number = 0; number < kHandOvers && now_ns() < end; ++number) {
        until([&] { return number - load_acquire(&consumed) < slots; });
        writer.write(copies_of(number));
      }
      until([&] { return writer.position() - load_acquire(&consumed) < slots; });
      writer.write(copies_of(kLast));
    });
    RingReader<Copies> reader(memory.slots(), slots);
    std::uint64_t wrong = 0;
    for (std::uint64_t number = 0;; ++number) {
      Copies slot;
      until([&] { return reader.read(slot); });
      if (all_copies_are(slot, kLast)) break;
      wrong += all_copies_are(slot, number) ? 0 : 1;
      store_release(&consumed, number + 1);
    }
    writing.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("plain memory that a request names is handed over with it, and back with the completion") {
  const Watchdog watchdog(120);
  constexpr std::uint32_t kDepth = 8;
  SlotMemory<rde_request> request_memory(kDepth);
  SlotMemory<rde_completion> completion_memory(4 * kDepth);
  std::vector<std::uint64_t> buffers(kDepth);  // not atomic: ThreadSanitizer sees a hand-over that is none
  std::thread engine([&] {
    RingReader<rde_request> requests(request_memory.slots(), kDepth);
    RingWriter<rde_completion> completions(completion_memory.slots(), 4 * kDepth);
    for (;;) {
      rde_request request;
      until([&] { return requests.read(request); });
      if (request.tag == kLast) return;
      buffers[request.buffer_page] += request.tag;
      completions.write({.tag = request.tag, .value = request.buffer_page});
    }
  });
  RingWriter<rde_request> requests(request_memory.slots(), kDepth);
  RingReader<rde_completion> completions(completion_memory.slots(), 4 * kDepth);
  std::uint64_t sent = 0;
  std::uint64_t wrong = 0;
  const Nanoseconds end = now_ns() + kTime;
  for (std::uint64_t reaped = 0; reaped < kHandOvers && now_ns() < end; ++reaped) {
    while (sent - reaped < kDepth - 1) {
      buffers[sent % kDepth] = sent;
      requests.write({.op = RDE_OP_NOP, .tag = sent, .buffer_page = static_cast<std::uint32_t>(sent % kDepth)});
      ++sent;
    }
    rde_completion completion;
    until([&] { return completions.read(completion); });
    wrong += completion.tag == reaped && buffers[completion.value] == 2 * reaped ? 0 : 1;
  }
  requests.write({.op = RDE_OP_NOP, .tag = kLast});
  engine.join();
  CHECK(wrong == 0);
}

TEST_CASE("what an attacker does to a slot while it is read cannot get past the check") {
  const Watchdog watchdog(120);
  std::vector<std::byte> segment(1 << 20);
  rde_segment_header header{};
  header.arena_size = segment.size();
  const SegmentView view(segment, header);

  SlotMemory<rde_request> memory(2);
  std::atomic<bool> stop{false};
  std::thread attacker([&] {
    // Word 4 holds buffer_page and length. The lap is always the one that is expected next.
    constexpr std::uint64_t kGood = std::uint64_t{4096} << 32 | 3;
    constexpr std::uint64_t kBad = std::uint64_t{0xFFFFFFFF} << 32 | 0xFFFFFFF0;
    for (std::uint64_t turn = 0; !stop.load(std::memory_order_relaxed); ++turn) {
      store_relaxed(memory.word(0, 4), turn % 2 == 0 ? kGood : kBad);
      store_relaxed(memory.word(0, 0), std::uint64_t{1});
    }
  });
  std::uint64_t wrong = 0;
  std::uint64_t good = 0;
  std::uint64_t refused = 0;
  const Nanoseconds end = now_ns() + kSecond / 2;
  while (now_ns() < end) {
    for (unsigned i = 0; i < 1000; ++i) {
      RingReader<rde_request> reader(memory.slots(), 2);
      rde_request copy;
      if (!reader.read(copy)) continue;
      const auto buffer = view.buffer(copy.buffer_page, copy.length);
      if (buffer.empty()) {
        ++refused;
        wrong += copy.length == 0xFFFFFFFF || copy.length == 0 ? 0 : 1;
      } else {
        ++good;
        wrong += buffer.size() == 4096 && buffer.data() == segment.data() + 3 * 4096 ? 0 : 1;
      }
    }
  }
  stop = true;
  attacker.join();
  CHECK(wrong == 0);
  CHECK(good + refused > 0);
}

}  // namespace rde::test
