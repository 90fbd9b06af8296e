// A store over a folder of its own, a reader, and jobs that can be waited for.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rde_layout.h"
#include "seaweed/file_id.h"
#include "seaweed/fixtures.h"
#include "storage/storage_reader.h"
#include "support/bytes.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace rde::test {

namespace fs = std::filesystem;

// A folder for volumes that goes when the test does.
class VolumeFolder : public TemporaryFolder {
 public:
  // Copies the files of one volume in, perhaps under another name.
  void copy_volume(const fs::path& folder, const std::string& name, const std::string& as = "") const {
    for (const char* extension : {".dat", ".idx", ".vif"}) {
      if (!fs::exists(folder / (name + extension))) continue;
      fs::copy_file(folder / (name + extension), path() / ((as.empty() ? name : as) + extension),
                    fs::copy_options::overwrite_existing);
    }
  }
};

class TestJob final : public ObjectJob {
 public:
  TestJob() = default;
  TestJob(ObjectId object, std::size_t size, std::uint64_t from = 0) : room(size) {
    id = object;
    offset = from;
    destination = room;
  }
  void on_done() override { ++done; }

  [[nodiscard]] std::span<const std::byte> answer() const { return std::span(room).first(bytes); }

  int done = 0;
  Bytes room;
};

inline ObjectId object_id(const std::string& fid) {
  const auto id = parse_file_id(fid);
  REQUIRE(id);
  return {id->volume, id->key, id->cookie};
}

// Lets the reader work, asleep where there is nothing to do, until the condition holds.
template <class Condition>
void run_until(StorageReader& reader, Condition condition) {
  while (!condition()) {
    if (reader.progress() != 0 || condition()) continue;
    if (!reader.arm()) continue;
    const Nanoseconds timer = reader.next_timer();
    const Nanoseconds now = now_ns();
    int wait = 1000;
    if (timer != 0) wait = timer <= now ? 0 : static_cast<int>((timer - now) / kMillisecond + 1);
    pollfd descriptor{reader.event_descriptor(), POLLIN, 0};
    poll(&descriptor, 1, std::min(wait, 1000));
  }
}

inline void run(StorageReader& reader, TestJob& job) {
  reader.submit(job);
  run_until(reader, [&] { return job.done != 0; });
  CHECK(job.done == 1);
}

struct Fixture {
  explicit Fixture(std::vector<std::string> folders, bool use_io_uring = true, ReadQueueOptions options = {}) {
    StoreOptions store_options;
    store_options.folders = std::move(folders);
    store_options.poll_interval = 200 * kMillisecond;
    store_options.warn = [this](std::string_view text) {
      const std::lock_guard guard(lock_);
      warnings_.emplace_back(text);
    };
    auto opened = VolumeStore::open(std::move(store_options));
    REQUIRE(opened);
    store = std::move(*opened);
    options.use_io_uring = use_io_uring;
    auto reader_opened = StorageReader::open(*store, options);
    REQUIRE(reader_opened);
    reader = std::move(*reader_opened);
  }
  explicit Fixture(const fs::path& folder, bool use_io_uring = true, ReadQueueOptions options = {})
      : Fixture(std::vector<std::string>{folder.string()}, use_io_uring, options) {}

  // Status of a read of the whole object.
  Status read(const ObjectId& id, std::size_t room = 1 << 20) {
    TestJob job(id, room);
    run(*reader, job);
    return job.status;
  }

  // Waits until the store has followed what the test did to its folder.
  template <class Condition>
  static void wait_for(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::vector<std::string> warnings() {
    const std::lock_guard guard(lock_);
    return warnings_;
  }

  std::mutex lock_;
  std::vector<std::string> warnings_;
  std::unique_ptr<VolumeStore> store;
  std::unique_ptr<StorageReader> reader;
};

}  // namespace rde::test
