// Parts of objects, and when their bytes may be called verified.
#include <doctest/doctest.h>

#include <random>

#include "base/crc32c.h"
#include "harness.h"
#include "seaweed/volume_writer.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::size_t kSmall = 1'000'003;           // several slices and a bit
constexpr std::size_t kLarge = (5 << 20) + 12'345;  // over what a range waits to be verified
constexpr ObjectId kSmallId{9, 1, 1};
constexpr ObjectId kLargeId{9, 2, 2};

std::string random_text(std::size_t size) {
  std::mt19937_64 random(size);
  std::string text(size, '\0');
  for (auto& c : text) c = static_cast<char>(random());
  return text;
}

const std::string kSmallText = random_text(kSmall);
const std::string kLargeText = random_text(kLarge);

void write_volume(const VolumeFolder& folder) {
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = kSmallText});
  writer.add({.id = 2, .cookie = 2, .data = kLargeText, .flags = kNeedleName, .name = "large"});
  writer.write(folder.path() / "9");
}

bool holds(const TestJob& job, const std::string& text) {
  const auto expected = std::as_bytes(std::span(text)).subspan(job.offset, job.bytes);
  return same_bytes(job.answer(), expected) && (job.skip_crc || job.crc == crc32c(expected));
}

bool is_unverified(const TestJob& job) { return (job.flags & RDE_COMPLETION_FLAG_UNVERIFIED) != 0; }
bool reaches_end(const TestJob& job) { return (job.flags & RDE_COMPLETION_FLAG_END) != 0; }

}  // namespace

TEST_CASE("any range of an object is that part of it") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    std::mt19937_64 random(1);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t offset = random() % kSmall;
      TestJob job(kSmallId, 1 + random() % (i % 2 ? 5'000 : 600'000), offset);
      run(*fixture.reader, job);
      REQUIRE(job.status == Status::ok);
      CHECK(job.bytes == std::min<std::uint64_t>(job.room.size(), kSmall - offset));
      CHECK(holds(job, kSmallText));
      CHECK_FALSE(is_unverified(job));
      CHECK(reaches_end(job) == (offset + job.bytes == kSmall));
      CHECK(job.object_size == kSmall);
    }
  }
}

TEST_CASE("an offset at the end gives no bytes, one behind it is refused") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  TestJob at_end(kSmallId, 64, kSmall);
  run(*fixture.reader, at_end);
  CHECK(at_end.status == Status::ok);
  CHECK(at_end.bytes == 0);
  CHECK(reaches_end(at_end));
  for (const std::uint64_t offset : {std::uint64_t{kSmall} + 1, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    TestJob beyond(kSmallId, 64, offset);
    run(*fixture.reader, beyond);
    CHECK(beyond.status == Status::offset_past_end);
    CHECK(beyond.bytes == 0);
  }
}

TEST_CASE("a buffer larger than the object is left alone behind its bytes") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  TestJob job(kSmallId, kSmall + 4096);
  run(*fixture.reader, job);
  CHECK(job.bytes == kSmall);
  CHECK(std::ranges::count(std::span(job.room).subspan(kSmall), std::byte{0}) == 4096);
}

TEST_CASE("a range of a small needle waits until it is verified, and that happens once") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  std::vector<std::unique_ptr<TestJob>> jobs;
  for (std::uint64_t offset = 0; offset < kSmall; offset += 100'000) {
    jobs.push_back(std::make_unique<TestJob>(kSmallId, 100'000, offset));
    fixture.reader->submit(*jobs.back());
  }
  run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
  for (const auto& job : jobs) {
    CHECK(job->status == Status::ok);
    CHECK(holds(*job, kSmallText));
    CHECK_FALSE(is_unverified(*job));
  }
  CHECK(fixture.reader->counters().verified == 1);
}

TEST_CASE("a range of a large needle says unverified until it has been verified behind its back") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    TestJob first(kLargeId, 4096, 8192);
    run(*fixture.reader, first);
    CHECK(first.status == Status::ok);
    CHECK(holds(first, kLargeText));
    CHECK(is_unverified(first));
    run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
    CHECK(fixture.reader->counters().verified == 1);
    TestJob second(kLargeId, 4096, kLarge - 4096);
    run(*fixture.reader, second);
    CHECK(holds(second, kLargeText));
    CHECK_FALSE(is_unverified(second));
    CHECK(reaches_end(second));
  }
}

TEST_CASE("a whole read verifies the needle for the ranges that follow") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  TestJob whole(kLargeId, kLarge);
  run(*fixture.reader, whole);
  CHECK(whole.status == Status::ok);
  CHECK(holds(whole, kLargeText));
  CHECK(whole.crc == whole.etag);
  TestJob range(kLargeId, 4096, 1);
  run(*fixture.reader, range);
  CHECK(holds(range, kLargeText));
  CHECK_FALSE(is_unverified(range));
  CHECK(fixture.reader->counters().cache_hits == 1);
}

TEST_CASE("what one reader has verified, another need not") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  CHECK(fixture.read(kLargeId, kLarge) == Status::ok);
  auto other = StorageReader::open(*fixture.store);
  REQUIRE(other);
  TestJob range(kLargeId, 4096, 1);
  run(**other, range);
  CHECK_FALSE(is_unverified(range));
}

TEST_CASE("without the check the answer carries no checksum and says unverified") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  TestJob job(kSmallId, kSmall);
  job.skip_crc = true;
  run(*fixture.reader, job);
  CHECK(job.status == Status::ok);
  CHECK(holds(job, kSmallText));
  CHECK(job.crc == 0);
  CHECK(is_unverified(job));
  CHECK(fixture.reader->counters().verified == 0);
}

TEST_CASE("a needle with a wrong checksum is corrupt, whole and in part, and other needles are not") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = kSmallText, .crc = 7});
  writer.add({.id = 2, .cookie = 2, .data = "good"});
  writer.write(folder.path() / "9");
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    CHECK(fixture.read(kSmallId) == Status::object_corrupt);
    TestJob range(kSmallId, 4096, 4096);
    run(*fixture.reader, range);
    CHECK(range.status == Status::object_corrupt);
    CHECK(range.bytes == 0);
    CHECK(fixture.read(kLargeId) == Status::ok);
    CHECK(fixture.reader->counters().crc_failures == 2);
    CHECK_FALSE(fixture.warnings().empty());
  }
}

TEST_CASE("a large needle that was found damaged in the background is corrupt from then on") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 2, .cookie = 2, .data = kLargeText, .crc = 7});
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  TestJob before(kLargeId, 4096, 4096);
  run(*fixture.reader, before);
  CHECK(before.status == Status::ok);
  CHECK(is_unverified(before));
  run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
  CHECK(fixture.reader->counters().crc_failures == 1);
  CHECK(fixture.warnings().size() == 1);
  TestJob after(kLargeId, 4096, 4096);
  run(*fixture.reader, after);
  CHECK(after.status == Status::object_corrupt);
}

TEST_CASE("reads into memory that the kernel was told of give the same bytes") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder);
  Fixture fixture(folder.path());
  Bytes arena(2 * kSmall);
  for (int round = 0; round < 3; ++round) {
    fixture.reader->add_memory(arena);
    TestJob job(kSmallId, 1);
    job.destination = std::span(arena).subspan(round * 1000UL, kSmall);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK(same_bytes(job.destination, std::as_bytes(std::span(kSmallText))));
    CHECK(job.crc == crc_of(kSmallText));
    fixture.reader->remove_memory(arena);
    std::ranges::fill(arena, std::byte{0});
  }
}
