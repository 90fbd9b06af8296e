#include "ring/ring.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "rde_layout.h"
#include "slot_memory.h"

namespace rde::test {
namespace {

rde_request request_number(std::uint64_t number) {
  rde_request request{};
  request.op = static_cast<std::uint8_t>(number);
  request.tag = number;
  request.deadline_ns = ~number;
  request.length = static_cast<std::uint32_t>(number * 7);
  request.args[23] = static_cast<std::uint8_t>(number >> 8);
  return request;
}

bool is_request_number(const rde_request& got, std::uint64_t number) {
  const auto want = request_number(number);
  return got.op == want.op && got.tag == want.tag && got.deadline_ns == want.deadline_ns && got.length == want.length &&
         got.args[23] == want.args[23];
}

// Where cursors and laps of a ring of `slots` wrap, a little before.
std::vector<std::uint64_t> starts_of(std::uint64_t slots) {
  std::vector<std::uint64_t> starts{0};
  for (const unsigned bit : {31U, 32U}) {
    const std::uint64_t edge = std::uint64_t{1} << bit;
    starts.push_back(edge - slots - 1);        // positions
    starts.push_back((edge - 2) * slots + 1);  // laps
    starts.push_back((edge - 1) * slots - 1);
  }
  starts.push_back((std::uint64_t{1} << 63) - slots - 1);
  starts.push_back(~std::uint64_t{0} - slots - 1);
  return starts;
}

}  // namespace

TEST_CASE("requests arrive in order and whole across every wrap") {
  std::mt19937_64 random(1);
  for (const std::uint32_t slots : {2U, 64U, 4096U}) {
    for (const std::uint64_t start : starts_of(slots)) {
      CAPTURE(slots);
      CAPTURE(start);
      SlotMemory<rde_request> memory(slots, start);
      RingWriter<rde_request> writer(memory.slots(), slots, start);
      RingReader<rde_request> reader(memory.slots(), slots, start);
      std::uint64_t written = 0;
      std::uint64_t read = 0;
      bool good = true;
      while (read < 4 * std::uint64_t{slots} + 100) {
        const std::uint64_t room = slots - (written - read);
        for (std::uint64_t i = random() % (room + 1); i > 0; --i) writer.write(request_number(written++));
        rde_request got;
        for (std::uint64_t i = random() % (slots + 1); i > 0 && reader.read(got); --i) {
          good = good && is_request_number(got, read++);
        }
      }
      CHECK(good);
      CHECK(writer.position() == start + written);
      CHECK(reader.position() == start + read);
    }
  }
}

TEST_CASE("a ring that is full exactly at the wrap loses nothing") {
  for (const std::uint32_t slots : {2U, 64U, 4096U}) {
    for (const std::uint64_t start : starts_of(slots)) {
      CAPTURE(slots);
      CAPTURE(start);
      SlotMemory<rde_completion> memory(slots, start);
      RingWriter<rde_completion> writer(memory.slots(), slots, start);
      RingReader<rde_completion> reader(memory.slots(), slots, start);
      bool good = true;
      for (std::uint64_t lap = 0, written = 0, read = 0; lap < 4; ++lap) {
        for (std::uint32_t i = 0; i < slots; ++i) writer.write({.tag = written++});
        rde_completion got;
        for (std::uint32_t i = 0; i < slots; ++i) good = good && reader.read(got) && got.tag == read++;
        good = good && !reader.ready() && !reader.read(got);
      }
      CHECK(good);
    }
  }
}

TEST_CASE("a fresh ring has nothing to read") {
  SlotMemory<rde_request> memory(64);
  RingReader<rde_request> reader(memory.slots(), 64);
  rde_request request;
  CHECK_FALSE(reader.ready());
  CHECK_FALSE(reader.read(request));
}

TEST_CASE("a slot whose lap is not stored yet is not read") {
  SlotMemory<rde_request> memory(4);
  RingReader<rde_request> reader(memory.slots(), 4);
  for (std::size_t i = 1; i < memory.kWords; ++i) *memory.word(0, i) = 0x1111;
  rde_request request;
  CHECK_FALSE(reader.read(request));
}

TEST_CASE("a forged lap is nothing") {
  SlotMemory<rde_request> memory(4);
  RingReader<rde_request> reader(memory.slots(), 4);
  rde_request request;
  for (const std::uint64_t lap : {2ULL, 3ULL, 0xFFFFFFFFULL, 0x1'0000'0000ULL, 0xFFFFFFFF'00000000ULL}) {
    *memory.word(0, 0) = lap;
    CHECK_FALSE(reader.read(request));
  }
  CHECK(reader.position() == 0);
}

TEST_CASE("a slot is read once") {
  SlotMemory<rde_request> memory(4);
  RingWriter<rde_request> writer(memory.slots(), 4);
  RingReader<rde_request> reader(memory.slots(), 4);
  writer.write(request_number(9));
  rde_request request;
  CHECK(reader.ready());
  CHECK(reader.read(request));
  CHECK_FALSE(reader.ready());
  CHECK_FALSE(reader.read(request));
}

TEST_CASE("a reader that stopped is not overtaken by the words it left behind") {
  SlotMemory<rde_request> memory(2);
  RingWriter<rde_request> writer(memory.slots(), 2);
  RingReader<rde_request> late(memory.slots(), 2);
  for (std::uint64_t i = 0; i < 6; ++i) writer.write(request_number(i));
  rde_request request;
  CHECK_FALSE(late.read(request));  // its slot holds a later lap: a broken credit, not a request
}

TEST_CASE("every byte of a slot but its lap arrives") {
  std::mt19937_64 random(5);
  const auto check = [&]<class Slot>(Slot) {
    SlotMemory<Slot> memory(2);
    RingWriter<Slot> writer(memory.slots(), 2);
    RingReader<Slot> reader(memory.slots(), 2);
    std::uint8_t bytes[sizeof(Slot)];
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    Slot slot;
    std::memcpy(&slot, bytes, sizeof slot);
    writer.write(slot);
    Slot got{};
    REQUIRE(reader.read(got));
    CHECK(got.lap == 1);
    got.lap = slot.lap;
    CHECK(std::memcmp(&got, bytes, sizeof got) == 0);
    CHECK(std::memcmp(memory.word(0, 0) + 1, bytes + 8, sizeof bytes - 8) == 0);  // as the layout has it
  };
  for (unsigned turn = 0; turn < 100; ++turn) {
    check(rde_request{});
    check(rde_completion{});
  }
}

TEST_CASE("the lap that a caller gives is not the one that is published") {
  SlotMemory<rde_request> memory(4);
  RingWriter<rde_request> writer(memory.slots(), 4);
  auto request = request_number(1);
  request.lap = 77;
  writer.write(request);
  CHECK(static_cast<std::uint32_t>(*memory.word(0, 0)) == 1);
}

TEST_CASE("laps count up by one and wrap at 2^32") {
  constexpr RingShape shape(64);
  static_assert(shape.slot_of(70) == 6 && shape.lap_of(70) == 2);
  CHECK(shape.lap_of(0) == 1);
  CHECK(shape.lap_of(63) == 1);
  CHECK(shape.lap_of(((std::uint64_t{1} << 32) - 2) * 64) == 0xFFFFFFFF);
  CHECK(shape.lap_of(((std::uint64_t{1} << 32) - 1) * 64) == 0);
  CHECK(shape.lap_of((std::uint64_t{1} << 32) * 64) == 1);
  CHECK(shape.lap_of(~std::uint64_t{0}) == 0);
}

}  // namespace rde::test
