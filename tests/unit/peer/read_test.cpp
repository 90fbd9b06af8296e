// Reading from a peer.
#include "engines.h"

using namespace rde;
using namespace rde::test;

TEST_CASE("an object of any size comes whole and verified") {
  Engines engines;
  engines.join();
  std::uint64_t needle = 0;
  for (const std::size_t size : {1UL, 4096UL, 65'536UL, 65'537UL, 1UL << 20, (1UL << 20) + 1, 5'000'000UL}) {
    CAPTURE(size);
    engines.source.put(7, ++needle, pattern(size, static_cast<unsigned>(size)));
    TestJob job;
    engines.read(job, needle, size);
    CHECK(job.done == 0);
    engines.until([&] { return job.done == 1; });
    CHECK(job.status == Status::ok);
    CHECK(job.bytes == size);
    CHECK(job.object_size == size);
    CHECK(job.flags == RDE_COMPLETION_FLAG_END);
    const auto& object = engines.source.object(7, needle);
    CHECK(job.crc == crc32c(object));
    CHECK(job.etag == crc32c(object));
    CHECK(same_bytes(engines.arena.bytes().first(size), object));
  }
}

TEST_CASE("a buffer larger than the object is filled as far as the object goes") {
  Engines engines;
  engines.join();
  for (const std::size_t size : {10UL, 1'500'000UL, 2UL << 20}) {
    CAPTURE(size);
    engines.source.put(7, 1, pattern(size, 1));
    TestJob job;
    engines.read(job, 1, 8 << 20);
    engines.until([&] { return job.done == 1; });
    CHECK(job.status == Status::ok);
    CHECK(job.bytes == size);
    CHECK(job.flags == RDE_COMPLETION_FLAG_END);
  }
}

TEST_CASE("a range says that nobody verified it, and where it ends") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(3'000'000, 1));
  TestJob job;
  engines.read(job, 1, 2'000'000, 0, 500'000);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::ok);
  CHECK(job.bytes == 2'000'000);
  CHECK(job.flags == RDE_COMPLETION_FLAG_UNVERIFIED);
  const auto part = std::span<const std::byte>(engines.source.object(7, 1)).subspan(500'000, 2'000'000);
  CHECK(job.crc == crc32c(part));
  CHECK(same_bytes(engines.arena.bytes().first(2'000'000), part));

  TestJob tail;
  engines.read(tail, 1, 2'000'000, 0, 2'999'000);
  engines.until([&] { return tail.done == 1; });
  CHECK(tail.bytes == 1000);
  CHECK(tail.flags == (RDE_COMPLETION_FLAG_UNVERIFIED | RDE_COMPLETION_FLAG_END));
}

TEST_CASE("an offset behind the end is told apart from a missing object") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(100, 1));
  TestJob behind, missing;
  engines.read(behind, 1, 4096, 0, 101);
  engines.read(missing, 2, 4096);
  engines.until([&] { return behind.done == 1 && missing.done == 1; });
  CHECK(behind.status == Status::offset_past_end);
  CHECK(missing.status == Status::object_not_found);
}

TEST_CASE("a read without CRC says so and has none") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(2'000'000, 1));
  TestJob job;
  job.skip_crc = true;
  engines.read(job, 1, 2'000'000);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::ok);
  CHECK(job.crc == 0);
  CHECK((job.flags & RDE_COMPLETION_FLAG_UNVERIFIED) != 0);
}

TEST_CASE("a stat brings what the source wrote") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(12'345, 1));
  TestJob job;
  job.kind = ObjectJob::Kind::stat;
  job.id = {7, 1, 0};
  job.destination = engines.arena.bytes().first(4096);
  engines.gateway->submit(engines.peer, job, *engines.memory);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::ok);
  REQUIRE(job.bytes == sizeof(rde_object_stat));
  rde_object_stat stat;
  std::memcpy(&stat, job.destination.data(), sizeof(stat));
  CHECK(stat.stored_size == 12'345);
  CHECK(job.object_size == 12'345);
}

TEST_CASE("bytes that do not fit their CRC are object_corrupt") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(2'000'000, 1));
  engines.source.tamper = [](ObjectJob& job) { job.destination[3] ^= std::byte{1}; };
  TestJob job;
  engines.read(job, 1, 2'000'000);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::object_corrupt);
  CHECK(job.bytes == 0);
}

TEST_CASE("a whole object that does not fit the CRC of its record is object_corrupt") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(2'000'000, 1));
  engines.source.tamper = [](ObjectJob& job) { job.etag ^= 1; };
  TestJob job;
  engines.read(job, 1, 2'000'000);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::object_corrupt);
}

TEST_CASE("an object that is replaced between two slices is read anew, once") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(6 << 20, 1));
  unsigned answers = 0;
  engines.source.tamper = [&](ObjectJob&) {
    if (++answers == 3) engines.source.put(7, 1, pattern((5 << 20) + 17, 2));
  };
  TestJob job;
  engines.read(job, 1, 6 << 20);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::ok);
  CHECK(job.bytes == (5 << 20) + 17);
  CHECK(same_bytes(engines.arena.bytes().first(job.bytes), engines.source.object(7, 1)));
}

TEST_CASE("an object that never settles is volume_changing") {
  Engines engines;
  engines.join();
  unsigned answers = 0;
  engines.source.put(7, 1, pattern(4 << 20, 0));
  engines.source.tamper = [&](ObjectJob&) { engines.source.put(7, 1, pattern(4 << 20, ++answers)); };
  TestJob job;
  engines.read(job, 1, 4 << 20);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::volume_changing);
  // A slice that was still on its way is given back by the peer's CREDIT.
  engines.until([&] { return engines.gateway->list()[0].in_flight == 0; });
}

TEST_CASE("an error of the source is the job's status") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(4 << 20, 0));
  engines.source.fails_with = Status::io_error;
  TestJob job;
  engines.read(job, 1, 4 << 20);
  engines.until([&] { return job.done == 1; });
  CHECK(job.status == Status::io_error);
  engines.until([&] { return engines.gateway->list()[0].in_flight == 0; });
}

TEST_CASE("a job without room, or for a handle that names nothing, ends with its own status") {
  Engines engines;
  engines.join();
  TestJob empty, unknown;
  engines.read(empty, 1, 0);
  unknown.destination = engines.arena.bytes().first(10);
  engines.gateway->submit(Handle{9, 1}, unknown, *engines.memory);
  CHECK(empty.done + unknown.done == 0);
  engines.step();
  CHECK(empty.status == Status::length_zero);
  CHECK(unknown.status == Status::invalid_handle);
  CHECK(empty.done + unknown.done == 2);
}

TEST_CASE("a job may be submitted again from its own on_done") {
  Engines engines;
  engines.join();
  engines.source.put(7, 1, pattern(4096, 1));
  unsigned rounds = 0;
  TestJob job;
  job.then = [&] {
    if (++rounds < 1000) engines.read(job, 1, 4096);
  };
  engines.read(job, 1, 4096);
  engines.until([&] { return rounds == 1000; });
  CHECK(job.status == Status::ok);
  CHECK(engines.gateway->counts().reads == 1000);
  CHECK(engines.storage->counts().serves == 1000);
}
