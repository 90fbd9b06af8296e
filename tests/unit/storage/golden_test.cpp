// What real servers wrote is read back byte for byte.
#include <doctest/doctest.h>

#include <cstring>

#include "base/crc32c.h"
#include "harness.h"
#include "sha256.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::size_t kRoom = 16 << 20;

std::string hex(std::uint32_t value) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", value);
  return digits;
}

void check_object(StorageReader& reader, const ExpectedObject& object) {
  INFO("object ", object.fid);
  TestJob job(object_id(object.fid), kRoom);
  run(reader, job);
  if (object.missing || object.expired) {
    CHECK(job.status == Status::object_not_found);
    CHECK(job.bytes == 0);
    return;
  }
  REQUIRE(job.status == Status::ok);
  CHECK((job.flags & RDE_COMPLETION_FLAG_END) != 0);
  CHECK((job.flags & RDE_COMPLETION_FLAG_LOCAL) != 0);
  CHECK((job.flags & RDE_COMPLETION_FLAG_UNVERIFIED) == 0);
  CHECK(((job.flags & RDE_COMPLETION_FLAG_MANIFEST) != 0) == object.manifest);
  CHECK(job.bytes == job.object_size);
  CHECK(job.crc == crc32c(job.answer()));
  CHECK(job.crc == job.etag);
  if (object.manifest) return;
  if (!object.stored_sha256.empty()) {
    CHECK((job.flags & RDE_COMPLETION_FLAG_GZIP) != 0);
    CHECK(sha256(job.answer()) == object.stored_sha256);
  } else if ((job.flags & RDE_COMPLETION_FLAG_GZIP) == 0) {
    CHECK(job.bytes == object.size);
    CHECK(sha256(job.answer()) == object.sha256);
  } else {
    CHECK(job.bytes < object.size);  // packed by the server; its CRC was compared
  }
  if (!object.etag.empty()) CHECK(hex(job.etag) == object.etag);
}

}  // namespace

TEST_CASE("sha256 of a known text is the known sum") {
  const std::string_view text = "abc";
  CHECK(sha256(std::as_bytes(std::span(text))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("every object of every volume is what its server says, by io_uring and by threads") {
  const Watchdog watchdog;
  for (const bool use_io_uring : {true, false}) {
    for (const auto& folder : volume_folders()) {
      INFO("folder ", folder.string());
      Fixture fixture(folder, use_io_uring);
      const auto objects = read_objects(folder / "objects.jsonl");
      CHECK_FALSE(objects.empty());
      // Twice: by the record, and by what is remembered of it.
      for (int round = 0; round < 2; ++round) {
        for (const auto& object : objects) check_object(*fixture.reader, object);
      }
      CHECK(fixture.warnings().empty());
    }
  }
}

TEST_CASE("all objects at once come out as they do one by one") {
  const Watchdog watchdog;
  for (const bool use_io_uring : {true, false}) {
    const auto folder = data_folder() / "history/3-vacuumed";
    Fixture fixture(folder, use_io_uring, {.depth = 8});
    const auto objects = read_objects(folder / "objects.jsonl");
    std::vector<std::unique_ptr<TestJob>> jobs;
    for (int copy = 0; copy < 5; ++copy) {
      for (const auto& object : objects) {
        jobs.push_back(std::make_unique<TestJob>(object_id(object.fid), 64 * 1024));
        jobs.back()->bulk = copy % 2 == 1;
        fixture.reader->submit(*jobs.back());
      }
    }
    run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto& object = objects[i % objects.size()];
      REQUIRE(jobs[i]->done == 1);
      REQUIRE(jobs[i]->status == (object.missing ? Status::object_not_found : Status::ok));
      if (!object.missing) CHECK(sha256(jobs[i]->answer()) == object.sha256);
    }
  }
}

TEST_CASE("a stat tells size, dates, mime type and name") {
  const Watchdog watchdog;
  Fixture fixture(data_folder() / "volumes");
  TestJob job(object_id("2,01200d531c"), 4096);
  job.kind = ObjectJob::Kind::stat;
  run(*fixture.reader, job);
  REQUIRE(job.status == Status::ok);
  rde_object_stat stat{};
  std::memcpy(&stat, job.room.data(), sizeof stat);
  CHECK(stat.stored_size == 3000);
  CHECK(hex(stat.etag) == "be4de75e");
  CHECK(stat.volume == 2);
  CHECK(stat.append_at_ns > 1'700'000'000'000'000'000);
  CHECK(stat.last_modified > 1'700'000'000);
  const std::string text(reinterpret_cast<const char*>(job.room.data()) + sizeof stat, job.bytes - sizeof stat);
  CHECK(stat.mime_length == 9);
  CHECK(stat.name_length == 7);
  CHECK(text == "image/pngcat.png");
  CHECK(job.object_size == 3000);
  CHECK(job.crc == crc32c(job.answer()));
}

TEST_CASE("a stat of a long name, of long pairs and of a manifest reads all metadata") {
  const Watchdog watchdog;
  Fixture fixture(data_folder() / "volumes");
  const auto stat_of = [&](const char* fid) {
    TestJob job(object_id(fid), 4096);
    job.kind = ObjectJob::Kind::stat;
    run(*fixture.reader, job);
    REQUIRE(job.status == Status::ok);
    rde_object_stat stat{};
    std::memcpy(&stat, job.room.data(), sizeof stat);
    return stat;
  };
  CHECK(stat_of("2,02359b874c").name_length == 255);
  CHECK(stat_of("2,0428a6c86f").mime_length > 30);
  CHECK(stat_of("2,05525d1c3f").stored_size == 4321);
  CHECK(stat_of("2,0682a659fc").last_modified == 1'500'000'000);
  CHECK(stat_of("2,0b201c82ae").flags == (RDE_COMPLETION_FLAG_MANIFEST | RDE_COMPLETION_FLAG_GZIP));
  CHECK(stat_of("2,07780a7e98").flags == RDE_COMPLETION_FLAG_GZIP);
}

TEST_CASE("a stat that does not fit its buffer says so and writes nothing beyond") {
  const Watchdog watchdog;
  Fixture fixture(data_folder() / "volumes");
  for (const std::size_t room : {0UL, 63UL, 64UL, 79UL}) {
    TestJob job(object_id("2,01200d531c"), room);
    job.kind = ObjectJob::Kind::stat;
    run(*fixture.reader, job);
    CHECK(job.status == Status::buffer_too_small);
  }
  TestJob job(object_id("2,01200d531c"), 80);
  job.kind = ObjectJob::Kind::stat;
  run(*fixture.reader, job);
  CHECK(job.status == Status::ok);
}
