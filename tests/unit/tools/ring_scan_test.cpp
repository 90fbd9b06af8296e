#include "dump/ring_scan.h"

#include <doctest/doctest.h>

#include <vector>

#include "rde_layout.h"

using namespace rde;
using namespace rde::tools;

namespace {

// A ring to which everything up to `position` has been written.
std::vector<rde_request> ring_written_to(std::uint64_t position, std::uint32_t slots) {
  std::vector<rde_request> ring(slots);
  RingWriter<rde_request> writer(ring.data(), slots, position - slots);
  for (std::uint32_t i = 0; i < slots; ++i) writer.write({});
  return ring;
}

}  // namespace

TEST_CASE("a fresh ring has nothing written") {
  const std::vector<rde_request> ring(8);
  CHECK(scan_ring(ring.data(), 8, 0).written == 0);
  CHECK(scan_ring(ring.data(), 8, 0).odd_slots == 0);
}

TEST_CASE("the laps tell how far a ring was written, whatever the cursor says") {
  for (std::uint64_t count = 1; count <= 40; ++count) {
    std::vector<rde_request> ring(8);
    RingWriter<rde_request> writer(ring.data(), 8);
    for (std::uint64_t i = 0; i < count; ++i) writer.write({});
    for (const std::uint64_t near : {std::uint64_t{0}, count, count + 1000}) {
      CHECK(scan_ring(ring.data(), 8, near).written == count);
      CHECK(scan_ring(ring.data(), 8, near).odd_slots == 0);
    }
  }
}

TEST_CASE("positions are right across every wrap of lap and cursor") {
  for (const std::uint64_t wrap : {std::uint64_t{1} << 31, std::uint64_t{1} << 32, std::uint64_t{1} << 35,
                                   std::uint64_t{1} << 46, std::uint64_t{0}}) {
    for (std::uint64_t position = wrap - 20; position != wrap + 20; ++position) {
      const auto ring = ring_written_to(position, 8);
      CHECK(scan_ring(ring.data(), 8, position - 3).written == position);
      CHECK(scan_ring(ring.data(), 8, position + 3).written == position);
    }
  }
}

TEST_CASE("slots with a lap that fits no ring are counted and ignored") {
  auto ring = ring_written_to(100, 8);
  ring[6].lap = 0xDEAD;
  ring[7].lap = 0;
  const auto scan = scan_ring(ring.data(), 8, 100);
  CHECK(scan.odd_slots == 2);
  CHECK(scan.written == 100);
}

TEST_CASE("a copied slot has the bytes that were written and says that it is stable") {
  std::vector<rde_request> ring(2);
  RingWriter<rde_request> writer(ring.data(), 2);
  writer.write({.op = RDE_OP_PING, .tag = 9});
  const auto copy = copy_slot(ring[0]);
  CHECK(copy.stable);
  CHECK(copy.slot.op == RDE_OP_PING);
  CHECK(copy.slot.tag == 9);
}
