// Files that are damaged, cut or forged: an error or the right bytes, never anything else.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "harness.h"
#include "seaweed/volume_writer.h"

using namespace rde;
using namespace rde::test;

namespace {

const WrittenNeedle kNeedle{.id = 0x0102030405060708,
                            .cookie = 0x637037d6,
                            .data = "the bytes of the object",
                            .flags = kNeedleName | kNeedleMime | kNeedleLastModified | kNeedleTtl | kNeedlePairs,
                            .name = "cat",
                            .mime = "image/png",
                            .ttl = {100, Ttl::kYear},
                            .pairs = "{}"};

// Reads the needle from many volumes at once; volume ids are the keys.
std::map<std::uint32_t, std::unique_ptr<TestJob>> read_all(Fixture& fixture, std::uint64_t id, std::uint32_t cookie) {
  std::map<std::uint32_t, std::unique_ptr<TestJob>> jobs;
  for (const std::uint32_t volume : fixture.store->served()) {
    auto& job = jobs[volume] = std::make_unique<TestJob>(ObjectId{volume, id, cookie}, 256);
    fixture.reader->submit(*job);
  }
  run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
  return jobs;
}

bool is_right(const TestJob& job, const std::string& text) {
  return job.status == Status::ok && same_bytes(job.answer(), std::as_bytes(std::span(text)));
}

}  // namespace

TEST_CASE("a changed byte anywhere in a record gives an error or the right bytes") {
  const Watchdog watchdog;
  for (const unsigned version : {1U, 2U, 3U}) {
    const VolumeFolder folder;
    VolumeWriter writer(version);
    const auto offset = writer.add(kNeedle);
    const std::size_t size =
        needle_record_size(version, parse_needle_header(std::span(writer.data).subspan(offset)).size);
    std::uint32_t volume = 0;
    for (std::size_t at = 0; at < size; ++at) {
      for (const unsigned bits : {0x01U, 0x80U, 0xffU}) {
        VolumeWriter damaged = writer;
        damaged.data[offset + at] ^= static_cast<std::byte>(bits);
        damaged.write(folder.path() / std::to_string(++volume));
      }
    }
    Fixture fixture(folder.path());
    const auto jobs = read_all(fixture, kNeedle.id, kNeedle.cookie);
    REQUIRE(jobs.size() == size * 3);
    const std::size_t data_at = needle_data_offset(version);
    for (const auto& [id, job] : jobs) {
      const std::size_t at = (id - 1) / 3;
      INFO("version ", version, ", byte ", at);
      REQUIRE(job->done == 1);
      if (at < 4) {
        CHECK(job->status == Status::object_not_found);  // the cookie
      } else if (at < 16) {
        CHECK(job->status == Status::volume_corrupt);  // id and size
      } else if (at >= data_at && at < data_at + kNeedle.data.size()) {
        CHECK(job->status == Status::object_corrupt);
      } else {
        const std::set<Status> allowed{Status::volume_corrupt, Status::object_corrupt, Status::object_not_found};
        CHECK((is_right(*job, kNeedle.data) || allowed.contains(job->status)));
      }
      if (job->status != Status::ok) CHECK(job->bytes == 0);
    }
  }
}

TEST_CASE("a data file cut at any byte of a record makes that record corrupt and leaves the one before") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 5, .cookie = 1, .data = "before"});
  const auto offset = writer.add(kNeedle);
  const std::size_t size = needle_record_size(3, parse_needle_header(std::span(writer.data).subspan(offset)).size);
  for (std::size_t kept = 0; kept < size; ++kept) {
    VolumeWriter cut = writer;
    cut.data.resize(offset + kept);
    cut.write(folder.path() / std::to_string(kept + 1));
  }
  Fixture fixture(folder.path());
  for (const auto& [id, job] : read_all(fixture, kNeedle.id, kNeedle.cookie))
    CHECK(job->status == Status::volume_corrupt);
  for (const auto& [id, job] : read_all(fixture, 5, 1)) CHECK(is_right(*job, "before"));
}

TEST_CASE("an index cut at any byte of its last entry does not know that entry and knows the one before") {
  const Watchdog watchdog;
  for (const unsigned offset_bytes : {4U, 5U}) {
    const VolumeFolder folder;
    VolumeWriter writer(3, offset_bytes);
    writer.add({.id = 5, .cookie = 1, .data = "before"});
    writer.add(kNeedle);
    const std::size_t entry = index_entry_size(offset_bytes);
    for (std::size_t kept = 0; kept <= entry; ++kept) {
      VolumeWriter cut = writer;
      cut.index.resize(entry + kept);
      cut.write(folder.path() / std::to_string(kept + 1));
    }
    Fixture fixture(folder.path());
    for (const auto& [id, job] : read_all(fixture, kNeedle.id, kNeedle.cookie)) {
      CHECK(job->status == (id == entry + 1 ? Status::ok : Status::object_not_found));
    }
    for (const auto& [id, job] : read_all(fixture, 5, 1)) CHECK(is_right(*job, "before"));
  }
}

TEST_CASE("index entries that point anywhere never give bytes") {
  const Watchdog watchdog;
  for (const unsigned offset_bytes : {4U, 5U}) {
    const VolumeFolder folder;
    VolumeWriter writer(3, offset_bytes);
    const auto offset = writer.add(kNeedle);
    std::mt19937_64 random(offset_bytes);
    constexpr std::uint64_t kForged = 1'000;
    for (std::uint64_t key = 1; key <= kForged; ++key) {
      const std::uint64_t where =
          key % 3 == 0 ? offset : random() % (key % 2 ? 512 : std::uint64_t{1} << 43) / 8 * 8 + 8;
      const auto size = static_cast<std::int32_t>(key % 5 == 0 ? 0x7fffffff : random() % 300 + 1);
      writer.enter(key, where, size);
    }
    writer.write(folder.path() / "9");
    Fixture fixture(folder.path());
    std::vector<std::unique_ptr<TestJob>> jobs;
    for (std::uint64_t key = 1; key <= kForged; ++key) {
      jobs.push_back(std::make_unique<TestJob>(ObjectId{9, key, kNeedle.cookie}, 4096));
      if (key % 4 == 0) jobs.back()->kind = ObjectJob::Kind::stat;
      fixture.reader->submit(*jobs.back());
    }
    run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
    for (const auto& job : jobs) CHECK(job->status == Status::volume_corrupt);
    CHECK(fixture.read({9, kNeedle.id, kNeedle.cookie}) == Status::ok);
  }
}

TEST_CASE("a vif that is damaged keeps the volume out, with a warning, until it is mended") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add(kNeedle);
  writer.write(folder.path() / "9");
  Bytes broken;
  put_text(broken, "{\"version\": 77}");
  write_file(folder.path() / "9.vif", broken);
  Fixture fixture(folder.path());
  CHECK(fixture.store->served().empty());
  Fixture::wait_for([&] { return !fixture.warnings().empty(); });
  CHECK(fixture.warnings()[0].find("version") != std::string::npos);
  write_file(folder.path() / "9.vif", writer.info());
  Fixture::wait_for([&] { return !fixture.store->served().empty(); });
  CHECK(fixture.read({9, kNeedle.id, kNeedle.cookie}) == Status::ok);
}
