// Volumes that change while they are read.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>

#include "harness.h"
#include "seaweed/volume_writer.h"
#include "sha256.h"

using namespace rde;
using namespace rde::test;

namespace {

void append(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// As a server does: first the record, then the entry.
void append_needle(const fs::path& base, VolumeWriter& writer, const WrittenNeedle& needle) {
  const auto data = writer.data.size();
  const auto index = writer.index.size();
  writer.add(needle);
  append(base.string() + ".dat", std::span(writer.data).subspan(data));
  append(base.string() + ".idx", std::span(writer.index).subspan(index));
}

std::string read_text(Fixture& fixture, const ObjectId& id) {
  TestJob job(id, 4096);
  run(*fixture.reader, job);
  if (job.status != Status::ok) return std::string(name_of(job.status));
  return {reinterpret_cast<const char*>(job.answer().data()), job.answer().size()};
}

}  // namespace

TEST_CASE("a volume that appears is served, and its going is noticed; the generation tells of both") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  Fixture fixture(folder.path());
  const auto generation = fixture.store->generation();
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(folder.path() / "9");
  Fixture::wait_for([&] { return fixture.store->served() == std::vector<std::uint32_t>{9}; });
  CHECK(fixture.store->generation() > generation);
  CHECK(read_text(fixture, {9, 1, 1}) == "one");
  const auto with_volume = fixture.store->generation();
  for (const char* extension : {".dat", ".idx", ".vif"}) fs::remove(folder.path() / ("9" + std::string(extension)));
  Fixture::wait_for([&] { return fixture.store->served().empty(); });
  CHECK(fixture.store->generation() > with_volume);
  CHECK(read_text(fixture, {9, 1, 1}) == "volume_not_found");
}

TEST_CASE("an object that has just been appended is found at once") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(base);
  Fixture fixture(folder.path());
  const auto generation = fixture.store->generation();
  for (std::uint64_t id = 2; id < 200; ++id) {
    append_needle(base, writer, {.id = id, .cookie = 1, .data = "object " + std::to_string(id)});
    REQUIRE(read_text(fixture, {9, id, 1}) == "object " + std::to_string(id));
  }
  CHECK(fixture.store->generation() == generation);
}

TEST_CASE("an object that is overwritten or deleted is followed") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "old"});
  writer.write(base);
  Fixture fixture(folder.path());
  CHECK(read_text(fixture, {9, 1, 1}) == "old");
  append_needle(base, writer, {.id = 1, .cookie = 1, .data = "new"});
  Fixture::wait_for([&] { return read_text(fixture, {9, 1, 1}) == "new"; });
  const auto data = writer.data.size();
  const auto index = writer.index.size();
  writer.remove(1);
  append(base.string() + ".dat", std::span(writer.data).subspan(data));
  append(base.string() + ".idx", std::span(writer.index).subspan(index));
  Fixture::wait_for([&] { return read_text(fixture, {9, 1, 1}) == "object_not_found"; });
}

TEST_CASE("half an index entry is not taken for a whole one") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(base);
  Fixture fixture(folder.path());
  const auto data = writer.data.size();
  writer.add({.id = 2, .cookie = 1, .data = "two"});
  append(base.string() + ".dat", std::span(writer.data).subspan(data));
  append(base.string() + ".idx", std::span(writer.index).subspan(16, 9));
  CHECK(read_text(fixture, {9, 2, 1}) == "object_not_found");
  append(base.string() + ".idx", std::span(writer.index).subspan(25));
  CHECK(read_text(fixture, {9, 2, 1}) == "two");
}

TEST_CASE("between the two renames of a swap the old pair is served, and the new one right after") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter old;
  old.add({.id = 1, .cookie = 1, .data = "gone by now"});
  old.add({.id = 2, .cookie = 1, .data = "kept"});
  old.write(base);
  Fixture fixture(folder.path());
  CHECK(read_text(fixture, {9, 2, 1}) == "kept");

  VolumeWriter vacuumed(3, 4, 1);
  vacuumed.add({.id = 2, .cookie = 1, .data = "kept"});
  vacuumed.add({.id = 3, .cookie = 1, .data = "added"});
  write_file(base.string() + ".cpd", vacuumed.data);
  write_file(base.string() + ".cpx", vacuumed.index);
  fs::rename(base.string() + ".cpd", base.string() + ".dat");
  CHECK(read_text(fixture, {9, 2, 1}) == "kept");
  CHECK(read_text(fixture, {9, 1, 1}) == "gone by now");
  fs::rename(base.string() + ".cpx", base.string() + ".idx");
  CHECK(read_text(fixture, {9, 3, 1}) == "added");
  CHECK(read_text(fixture, {9, 2, 1}) == "kept");
  CHECK(read_text(fixture, {9, 1, 1}) == "object_not_found");
}

TEST_CASE("a swap that stays half done says that the volume is changing, and never gives wrong bytes") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter old;
  old.add({.id = 1, .cookie = 1, .data = "gone by now, and of another length"});
  old.add({.id = 2, .cookie = 1, .data = "kept"});
  old.write(base);
  Fixture fixture(folder.path());
  VolumeWriter vacuumed(3, 4, 1);
  vacuumed.add({.id = 2, .cookie = 1, .data = "kept"});
  write_file(base.string() + ".cpd", vacuumed.data);
  write_file(base.string() + ".cpx", vacuumed.index);
  fs::rename(base.string() + ".cpd", base.string() + ".dat");
  Fixture::wait_for([&] {
    const auto text = read_text(fixture, {9, 2, 1});
    CHECK((text == "kept" || text == "volume_changing"));
    return text == "volume_changing";
  });
  fs::rename(base.string() + ".cpx", base.string() + ".idx");
  Fixture::wait_for([&] { return read_text(fixture, {9, 2, 1}) == "kept"; });
}

TEST_CASE("files that are rewritten in place are noticed") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter first;
  for (std::uint64_t id = 1; id <= 20; ++id) first.add({.id = id, .cookie = 1, .data = "first"});
  first.write(base);
  Fixture fixture(folder.path());
  CHECK(read_text(fixture, {9, 1, 1}) == "first");
  VolumeWriter second;
  for (std::uint64_t id = 20; id >= 1; --id)
    second.add({.id = id, .cookie = 1, .data = "second " + std::to_string(id)});
  write_file(base.string() + ".dat", second.data);
  write_file(base.string() + ".idx", second.index);
  Fixture::wait_for([&] { return read_text(fixture, {9, 1, 1}) == "second 1"; });
  Fixture::wait_for([&] { return read_text(fixture, {9, 20, 1}) == "second 20"; });
}

TEST_CASE("a read that is under way ends on the bytes of the file it began with") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  const auto base = folder.path() / "9";
  VolumeWriter old;
  old.add({.id = 1, .cookie = 1, .data = std::string(4 << 20, 'o')});
  old.write(base);
  Fixture fixture(folder.path());
  TestJob job({9, 1, 1}, 4 << 20);
  fixture.reader->submit(job);
  fixture.reader->progress();
  CHECK(job.done == 0);
  VolumeWriter other(3, 4, 1);
  other.add({.id = 1, .cookie = 1, .data = std::string(4 << 20, 'n')});
  other.write(base);
  run_until(*fixture.reader, [&] { return job.done != 0; });
  CHECK(job.status == Status::ok);
  CHECK(job.crc == crc_of(std::string(4 << 20, 'o')));
}

TEST_CASE("files that were replaced are closed though idle readers once used them") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(folder.path() / "9");
  Fixture fixture(folder.path());
  CHECK(read_text(fixture, {9, 1, 1}) == "one");
  const auto held = fixture.store->volumes();
  writer.write(folder.path() / "9");
  Fixture::wait_for([&] {
    std::error_code gone;  // descriptors come and go while they are listed
    return std::ranges::none_of(fs::directory_iterator("/proc/self/fd"), [&](const auto& entry) {
      const auto target = fs::read_symlink(entry.path(), gone).string();
      return target.starts_with(folder.path().string()) && target.ends_with("(deleted)");
    });
  });
  CHECK(read_text(fixture, {9, 1, 1}) == "one");
}

TEST_CASE("an index is not read any further once the engine stops") {
  const VolumeFolder folder;
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(folder.path() / "9");
  std::stop_source stop;
  const auto volume = Volume::open((folder.path() / "9").string(), stop.get_token());
  REQUIRE(volume);
  stop.request_stop();
  const auto late = Volume::open((folder.path() / "9").string(), stop.get_token());
  REQUIRE_FALSE(late);
  CHECK(late.error().status == Status::draining);

  unsigned warnings = 0;
  Catalog catalog(
      {folder.path().string()}, [&](std::string_view) { ++warnings; }, stop.get_token());
  catalog.scan(now_ns());
  CHECK(catalog.volumes()->served().empty());
  CHECK(warnings == 0);
}

TEST_CASE("the second of two folders takes over when the first loses the volume") {
  const Watchdog watchdog;
  const VolumeFolder first;
  const VolumeFolder second;
  VolumeWriter one;
  one.add({.id = 1, .cookie = 1, .data = "one"});
  one.write(first.path() / "9");
  VolumeWriter two;
  two.add({.id = 1, .cookie = 1, .data = "two"});
  two.write(second.path() / "pictures_9");
  Fixture fixture({first.path().string(), second.path().string()});
  CHECK(read_text(fixture, {9, 1, 1}) == "one");
  fs::remove(first.path() / "9.dat");
  Fixture::wait_for([&] { return read_text(fixture, {9, 1, 1}) == "two"; });
}

TEST_CASE("a folder that goes away takes its volumes along, and brings them back") {
  const Watchdog watchdog;
  const VolumeFolder root;
  const auto folder = root.path() / "export";
  fs::create_directory(folder);
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = "one"});
  writer.write(folder / "9");
  Fixture fixture(folder);
  fs::rename(folder, root.path() / "away");
  Fixture::wait_for([&] { return fixture.store->served().empty(); });
  CHECK_FALSE(fixture.warnings().empty());
  fs::rename(root.path() / "away", folder);
  Fixture::wait_for([&] { return read_text(fixture, {9, 1, 1}) == "one"; });
}

TEST_CASE("readers in a loop see each object as one of its moments while a live volume is vacuumed over and over") {
  const Watchdog watchdog;
  const char* const moments[] = {"1-first", "2-changed", "3-vacuumed"};
  std::map<std::string, std::set<std::string>> allowed;  // sums an object may have; "" = not found
  for (const char* moment : moments) {
    for (const auto& object : read_objects(data_folder() / "history" / moment / "objects.jsonl")) {
      allowed[object.fid].insert(object.missing ? "" : object.sha256);
    }
  }
  for (const char* moment : moments) {
    std::set<std::string> named;
    for (const auto& object : read_objects(data_folder() / "history" / moment / "objects.jsonl"))
      named.insert(object.fid);
    for (auto& [fid, sums] : allowed) {
      if (!named.contains(fid)) sums.insert("");
    }
  }
  const VolumeFolder folder;
  folder.copy_volume(data_folder() / "history/1-first", "hist_3");
  Fixture fixture(folder.path());

  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> right = 0;
  const auto read_in_a_loop = [&](StorageReader& reader) {
    while (!over) {
      for (const auto& [fid, sums] : allowed) {
        TestJob job(object_id(fid), 64 * 1024);
        run(reader, job);
        const bool found = job.status == Status::ok;
        const bool known = found || job.status == Status::object_not_found || job.status == Status::volume_changing;
        if (!known || (job.status != Status::volume_changing && !sums.contains(found ? sha256(job.answer()) : ""))) {
          ++wrong;
          std::fprintf(stderr, "%s: %s\n", fid.c_str(), std::string(name_of(job.status)).c_str());
        }
        if (found) ++right;
      }
    }
  };
  auto other = StorageReader::open(*fixture.store, {.use_io_uring = false, .threads = 2});
  REQUIRE(other);
  std::thread first([&] { read_in_a_loop(*fixture.reader); });
  std::thread second([&] { read_in_a_loop(**other); });
  std::mt19937 random(1);
  for (int swap = 1; swap <= 60; ++swap) {
    const auto from = data_folder() / "history" / moments[swap % 3];
    const std::string base = (folder.path() / "hist_3").string();
    fs::copy_file(from / "hist_3.dat", base + ".cpd");
    fs::copy_file(from / "hist_3.idx", base + ".cpx");
    fs::rename(base + ".cpd", base + ".dat");
    if (swap % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    fs::rename(base + ".cpx", base + ".idx");
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
  }
  over = true;
  first.join();
  second.join();
  CHECK(wrong == 0);
  CHECK(right > 0);
  const auto last = read_objects(data_folder() / "history" / moments[0] / "objects.jsonl");
  for (const auto& object : last) {
    TestJob job(object_id(object.fid), 64 * 1024);
    run(*fixture.reader, job);
    CHECK(job.status == Status::ok);
    CHECK(sha256(job.answer()) == object.sha256);
  }
}
