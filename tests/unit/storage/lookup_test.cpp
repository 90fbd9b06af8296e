// Which objects exist, and what is said of those that do not.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <ctime>
#include <fstream>

#include "harness.h"
#include "seaweed/volume_writer.h"

using namespace rde;
using namespace rde::test;

namespace {

std::string text_of(const TestJob& job) {
  return {reinterpret_cast<const char*>(job.answer().data()), job.answer().size()};
}

}  // namespace

TEST_CASE("a wrong cookie is answered like an object that never was, and no byte of it moves") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 7, .cookie = 1, .data = "secret"});
  writer.write(folder.path() / "9");
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    for (int round = 0; round < 2; ++round) {
      TestJob wrong({9, 7, 2}, 64);
      run(*fixture.reader, wrong);
      CHECK(wrong.status == Status::object_not_found);
      CHECK(wrong.room == Bytes(64));
      CHECK(fixture.read({9, 7, 1}) == Status::ok);  // the second round finds the needle remembered
    }
  }
}

TEST_CASE("an unknown key, a deleted key and an unknown volume have their own answers") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 7, .cookie = 1, .data = "hello"});
  writer.add({.id = 8, .cookie = 1, .data = "hello"});
  writer.remove(8);
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  CHECK(fixture.read({9, 7, 1}) == Status::ok);
  CHECK(fixture.read({9, 6, 1}) == Status::object_not_found);
  CHECK(fixture.read({9, 8, 1}) == Status::object_not_found);
  CHECK(fixture.read({10, 7, 1}) == Status::volume_not_found);
}

TEST_CASE("an empty object answers any cookie with no bytes and the end") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 7, .cookie = 1, .data = ""});
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  for (const std::uint32_t cookie : {1U, 2U}) {
    TestJob job({9, 7, cookie}, 64);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK(job.bytes == 0);
    CHECK(job.flags == (RDE_COMPLETION_FLAG_END | RDE_COMPLETION_FLAG_LOCAL));
  }
  TestJob stat({9, 7, 1}, 64);
  stat.kind = ObjectJob::Kind::stat;
  run(*fixture.reader, stat);
  CHECK(stat.status == Status::ok);
  CHECK(stat.object_size == 0);
  TestJob beyond({9, 7, 1}, 64, 1);
  run(*fixture.reader, beyond);
  CHECK(beyond.status == Status::offset_past_end);
}

TEST_CASE("a needle is gone when its time to live has passed, and not before") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto now = static_cast<std::uint64_t>(time(nullptr)) * kSecond;
  VolumeWriter writer;
  const auto add = [&](std::uint64_t id, std::uint64_t seconds_ago) {
    writer.add({.id = id,
                .cookie = 1,
                .data = "hello",
                .flags = kNeedleTtl | kNeedleLastModified,
                .ttl = {5, Ttl::kMinute},
                .append_at_ns = now - seconds_ago * kSecond});
  };
  add(1, 200);
  add(2, 301);
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  for (int round = 0; round < 2; ++round) {
    CHECK(fixture.read({9, 1, 1}) == Status::ok);
    CHECK(fixture.read({9, 2, 1}) == Status::object_not_found);
  }
  TestJob stat({9, 2, 1}, 128);
  stat.kind = ObjectJob::Kind::stat;
  run(*fixture.reader, stat);
  CHECK(stat.status == Status::object_not_found);
}

TEST_CASE("a needle without a time to live takes that of its volume") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer(3, 4, 0, {1, Ttl::kMinute});
  writer.add({.id = 1, .cookie = 1, .data = "old"});
  writer.add(
      {.id = 2, .cookie = 1, .data = "new", .append_at_ns = static_cast<std::uint64_t>(time(nullptr)) * kSecond});
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  CHECK(fixture.read({9, 1, 1}) == Status::object_not_found);
  CHECK(fixture.read({9, 2, 1}) == Status::ok);
}

TEST_CASE("records of all versions and offsets of both widths are read") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  for (const unsigned version : {1U, 2U, 3U}) {
    for (const unsigned offset_bytes : {4U, 5U}) {
      VolumeWriter writer(version, offset_bytes);
      writer.add({.id = 5, .cookie = 1, .data = "first"});
      writer.add({.id = 6, .cookie = 2, .data = "second one"});
      writer.write(folder.path() / std::to_string(version * 10 + offset_bytes));
    }
  }
  Fixture fixture(folder.path());
  CHECK(fixture.store->served() == std::vector<std::uint32_t>{14, 15, 24, 25, 34, 35});
  for (const std::uint32_t volume : fixture.store->served()) {
    TestJob job({volume, 6, 2}, 64);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK(text_of(job) == "second one");
  }
}

TEST_CASE("a checksum of an old server is taken") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const std::uint32_t crc = crc_of("hello");
  VolumeWriter writer;
  writer.add({.id = 5, .cookie = 1, .data = "hello", .crc = (crc >> 15 | crc << 17) + 0xa282ead8U});
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  TestJob job({9, 5, 1}, 64);
  run(*fixture.reader, job);
  CHECK(job.status == Status::ok);
  CHECK(job.etag == crc);
}

TEST_CASE("metadata longer than what is read of it at first is read whole") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 5,
              .cookie = 1,
              .data = "hello",
              .flags = kNeedleName | kNeedleMime | kNeedlePairs | kNeedleGzip,
              .name = std::string(255, 'n'),
              .mime = std::string(255, 'm'),
              .pairs = std::string(65'535, 'p')});
  writer.write(folder.path() / "9");
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    TestJob job({9, 5, 1}, 64);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK((job.flags & RDE_COMPLETION_FLAG_GZIP) != 0);
    CHECK(text_of(job) == "hello");
    TestJob stat({9, 5, 1}, 1024);
    stat.kind = ObjectJob::Kind::stat;
    run(*fixture.reader, stat);
    CHECK(stat.status == Status::ok);
    CHECK(text_of(stat).substr(sizeof(rde_object_stat)) == std::string(255, 'm') + std::string(255, 'n'));
  }
}

TEST_CASE("a record beyond 32 GiB is found where 4-byte offsets have wrapped") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  const auto offset = writer.add({.id = 5, .cookie = 1, .data = "low"});
  writer.write(folder.path() / "9");
  // A sparse file: the same place 32 GiB higher holds another needle, which the index names by the low offset.
  const auto record = make_record(3, {.id = 6, .cookie = 2, .data = "far up"});
  {
    std::fstream file(folder.path() / "9.dat", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>((std::uint64_t{32} << 30) + offset));
    file.write(reinterpret_cast<const char*>(record.data()), static_cast<std::streamsize>(record.size()));
    if (!file.flush()) return;  // this file system takes no file that large
  }
  writer.enter(6, offset, parse_needle_header(record).size);
  write_file(folder.path() / "9.idx", writer.index);
  Fixture fixture(folder.path());
  for (int round = 0; round < 2; ++round) {
    TestJob job({9, 6, 2}, 64);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK(text_of(job) == "far up");
    CHECK(fixture.read({9, 5, 1}) == Status::ok);
  }
}

TEST_CASE("a volume in a remote tier is known, not served, and says so") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  Bytes info;
  put_text(info, R"({"files": [{"backendType": "s3", "key": "x"}], "version": 3})");
  write_file(folder.path() / "pictures_9.vif", info);
  Fixture fixture(folder.path());
  CHECK(fixture.store->served().empty());
  CHECK(fixture.read({9, 6, 2}) == Status::volume_remote);
}

TEST_CASE("names of volumes may carry a collection, and only such names count") {
  CHECK(*volume_id_of("7") == 7);
  CHECK(*volume_id_of("pictures_7") == 7);
  CHECK(*volume_id_of("my_pictures_4294967295") == 4294967295U);
  for (const char* name : {"", "x", "_7", "7_", "pictures_", "pictures_x", "4294967296", "-7", "7 ", "a_-7"}) {
    INFO("name ", name);
    CHECK_FALSE(volume_id_of(name));
  }
}

TEST_CASE("the first of two folders wins, with a warning") {
  const Watchdog watchdog;
  const VolumeFolder first;
  const VolumeFolder second;
  VolumeWriter one;
  one.add({.id = 1, .cookie = 1, .data = "one"});
  one.write(first.path() / "9");
  VolumeWriter two;
  two.add({.id = 1, .cookie = 1, .data = "two"});
  two.write(second.path() / "9");
  Fixture fixture({first.path().string(), second.path().string()});
  TestJob job({9, 1, 1}, 64);
  run(*fixture.reader, job);
  CHECK(text_of(job) == "one");
  REQUIRE(fixture.warnings().size() == 1);
  CHECK(fixture.warnings()[0].find((second.path() / "9").string()) != std::string::npos);
}

TEST_CASE("what only looks like a volume is passed over without a hang") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  REQUIRE(mkfifo((base.string() + ".dat").c_str(), 0600) == 0);
  fs::create_directory(folder.path() / "10.dat");
  write_file(folder.path() / "11.dat", Bytes(3));
  write_file(folder.path() / "11.idx", {});
  VolumeWriter copying;
  copying.add({.id = 1, .cookie = 1, .data = "one"});
  copying.write(folder.path() / "12");
  write_file(folder.path() / "12.note", {});
  Fixture fixture(folder.path());
  CHECK(fixture.store->served().empty());
  fs::remove(folder.path() / "12.note");
  Fixture::wait_for([&] { return fixture.store->served() == std::vector<std::uint32_t>{12}; });
}

TEST_CASE("a folder that is not there is refused by name") {
  const auto store = VolumeStore::open({.folders = {"/nonexistent/volumes"}});
  REQUIRE_FALSE(store);
  CHECK(store.error().status == Status::invalid_request);
  CHECK(store.error().text.find("/nonexistent/volumes") != std::string::npos);
}

TEST_CASE("a store without folders serves nothing") {
  const Watchdog watchdog;
  Fixture fixture(std::vector<std::string>{});
  CHECK(fixture.store->served().empty());
  CHECK(fixture.read({9, 1, 1}) == Status::volume_not_found);
}
