// What can happen to reads between kernel and reader: short, interrupted, failed, late, cancelled.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <random>

#include "base/crc32c.h"
#include "harness.h"
#include "seaweed/volume_writer.h"
#include "sha256.h"
#include "storage/pool_queue.h"
#include "storage/uring_queue.h"

using namespace rde;
using namespace rde::test;

namespace {

// Reads at once, and hands the ends out when the test lets it.
class ScriptedQueue final : public ReadQueue {
 public:
  explicit ScriptedQueue(int event_fd) : event_fd_(event_fd) {}

  [[nodiscard]] unsigned depth() const override { return 16; }
  void push(const FileRead& read) override {
    FileReadEnd end{read.token, 0};
    const int fault = script ? script() : 0;
    if (fault < 0) {
      end.result = fault;
    } else {
      const std::size_t size =
          fault > 0 ? std::min<std::size_t>(read.to.size(), static_cast<std::size_t>(fault)) : read.to.size();
      end.result = static_cast<std::int32_t>(pread(read.fd, read.to.data(), size, static_cast<off_t>(read.offset)));
    }
    ends_.push_back(end);
    most_ = std::max(most_, ends_.size());
    const std::uint64_t one = 1;
    CHECK(write(event_fd_, &one, sizeof one) == sizeof one);
  }
  void flush() override {}
  std::span<const FileReadEnd> reap(std::span<FileReadEnd> room) override {
    if (held) return {};
    if (newest_first) std::ranges::reverse(ends_);
    const std::size_t count = std::min(room.size(), ends_.size());
    std::copy_n(ends_.begin(), count, room.begin());
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(count));
    return room.first(count);
  }
  [[nodiscard]] bool arm() override { return held || ends_.empty(); }
  void add_memory(std::span<std::byte>) override {}
  void remove_memory(std::span<std::byte>) override {}

  std::function<int()> script;  // -errno, or the most bytes to read; 0 = no fault
  bool held = false;
  bool newest_first = false;
  [[nodiscard]] std::size_t waiting() const { return ends_.size(); }
  [[nodiscard]] std::size_t most_at_once() const { return most_; }

 private:
  int event_fd_;
  std::vector<FileReadEnd> ends_;
  std::size_t most_ = 0;
};

struct ScriptedFixture {
  explicit ScriptedFixture(const fs::path& folder) {
    auto opened = VolumeStore::open({.folders = {folder.string()}});
    REQUIRE(opened);
    store = std::move(*opened);
    Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    auto scripted = std::make_unique<ScriptedQueue>(event.get());
    queue = scripted.get();
    reader = std::make_unique<StorageReader>(*store, std::move(scripted), std::move(event));
  }

  std::unique_ptr<VolumeStore> store;
  ScriptedQueue* queue = nullptr;
  std::unique_ptr<StorageReader> reader;
};

void write_volume(const VolumeFolder& folder, std::size_t size) {
  VolumeWriter writer;
  writer.add({.id = 1, .cookie = 1, .data = std::string(size, 'x')});
  writer.write(folder.path() / "9");
}

void progress_some(StorageReader& reader) {
  for (int i = 0; i < 10; ++i) reader.progress();
}

}  // namespace

TEST_CASE("reads that are short or interrupted are gone on with") {
  const Watchdog watchdog;
  const auto folder = data_folder() / "history/3-vacuumed";
  ScriptedFixture fixture(folder);
  std::mt19937 random(1);
  fixture.queue->script = [&]() -> int {
    switch (random() % 4) {
      case 0:
        return -EINTR;
      case 1:
        return -EAGAIN;
      case 2:
        return 1 + static_cast<int>(random() % 3'000);
      default:
        return 0;
    }
  };
  for (const auto& object : read_objects(folder / "objects.jsonl")) {
    TestJob job(object_id(object.fid), 64 * 1024);
    run(*fixture.reader, job);
    REQUIRE(job.status == (object.missing ? Status::object_not_found : Status::ok));
    if (!object.missing) CHECK(sha256(job.answer()) == object.sha256);
  }
  CHECK(fixture.queue->most_at_once() <= fixture.queue->depth());
}

TEST_CASE("reads that end in another order than they began have the CRC of their bytes, verified beside them or not") {
  const Watchdog watchdog;
  constexpr std::size_t kSize = 1'000'003;
  const VolumeFolder folder;
  VolumeWriter writer;
  std::mt19937 random(1);
  std::string text(kSize, '\0');
  std::ranges::generate(text, [&] { return static_cast<char>(random()); });
  writer.add({.id = 1, .cookie = 1, .data = text});
  writer.write(folder.path() / "9");
  for (const std::size_t length : {kSize, kSize - 1, std::size_t{700'000}, std::size_t{1}}) {
    ScriptedFixture fixture(folder.path());  // that has not verified the object
    fixture.queue->newest_first = true;
    for (int again = 0; again < 2; ++again) {
      TestJob job({9, 1, 1}, length, kSize - length);
      run(*fixture.reader, job);
      REQUIRE(job.status == Status::ok);
      CHECK(job.crc == crc32c(std::as_bytes(std::span(text)).last(length)));
      CHECK(crc32c(job.answer()) == job.crc);
    }
  }
}

TEST_CASE("a read that the kernel never lets through ends all the same") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 100);
  ScriptedFixture fixture(folder.path());
  fixture.queue->script = [] { return -EAGAIN; };
  TestJob job({9, 1, 1}, 100);
  run(*fixture.reader, job);
  CHECK(job.status == Status::io_error);
}

TEST_CASE("a read error ends the job as io_error, and the next job is served") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 1 << 20);
  ScriptedFixture fixture(folder.path());
  for (int good = 0; good < 8; ++good) {
    int left = good;
    fixture.queue->script = [&] { return left-- == 0 ? -EIO : 0; };
    TestJob job({9, 1, 1}, 1 << 20);
    run(*fixture.reader, job);
    CHECK(job.status == Status::io_error);
    CHECK(job.bytes == 0);
  }
  fixture.queue->script = nullptr;
  TestJob job({9, 1, 1}, 1 << 20);
  run(*fixture.reader, job);
  CHECK(job.status == Status::ok);
}

TEST_CASE("a job past its deadline ends only when its reads have ended") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 1 << 20);
  ScriptedFixture fixture(folder.path());
  fixture.queue->held = true;
  TestJob job({9, 1, 1}, 1 << 20);
  job.deadline = now_ns() + 5 * kMillisecond;
  fixture.reader->submit(job);
  while (now_ns() < job.deadline + 5 * kMillisecond) fixture.reader->progress();
  CHECK(job.done == 0);
  CHECK(fixture.queue->waiting() != 0);
  fixture.queue->held = false;
  run_until(*fixture.reader, [&] { return job.done != 0; });
  CHECK(job.status == Status::deadline_exceeded);
  CHECK_FALSE(fixture.reader->busy());
}

TEST_CASE("a job that has not begun to read ends at its deadline by itself") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 100);
  ScriptedFixture fixture(folder.path());
  TestJob job({9, 1, 1}, 100);
  job.deadline = 1;
  run(*fixture.reader, job);
  CHECK((job.status == Status::deadline_exceeded));
}

TEST_CASE("cancelling does not call back, and the job ends once its reads have ended") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 1 << 20);
  ScriptedFixture fixture(folder.path());
  for (const bool begun : {false, true}) {
    fixture.queue->held = begun;
    TestJob job({9, 1, 1}, 1 << 20);
    fixture.reader->submit(job);
    if (begun) progress_some(*fixture.reader);
    fixture.reader->cancel(job);
    fixture.reader->cancel(job);
    CHECK(job.done == 0);
    if (begun) {
      progress_some(*fixture.reader);
      CHECK(job.done == 0);
      fixture.queue->held = false;
    }
    run_until(*fixture.reader, [&] { return job.done != 0; });
    CHECK(job.status == Status::cancelled);
    progress_some(*fixture.reader);
    CHECK(job.done == 1);
    fixture.reader->cancel(job);  // it is not under way any more
    CHECK_FALSE(fixture.reader->busy());
  }
}

TEST_CASE("submitting does not call back, not even for a volume that is not there") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 100);
  ScriptedFixture fixture(folder.path());
  TestJob job({77, 1, 1}, 100);
  fixture.reader->submit(job);
  CHECK(job.done == 0);
  run_until(*fixture.reader, [&] { return job.done != 0; });
  CHECK(job.status == Status::volume_not_found);
}

TEST_CASE("a job may submit the next one from its end") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 1000);
  Fixture fixture(folder.path());
  struct Chain final : ObjectJob {
    void on_done() override {
      ++done;
      all_well = all_well && status == Status::ok;
      if (done < 1'000) reader->submit(*this);
    }
    StorageReader* reader = nullptr;
    int done = 0;
    bool all_well = true;
  } chain;
  Bytes room(1000);
  chain.id = {9, 1, 1};
  chain.destination = room;
  chain.reader = fixture.reader.get();
  fixture.reader->submit(chain);
  run_until(*fixture.reader, [&] { return chain.done == 1'000; });
  CHECK(chain.all_well);
}

TEST_CASE("a reader that goes ends its jobs first") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 4 << 20);
  for (const bool use_io_uring : {true, false}) {
    Fixture fixture(folder.path(), use_io_uring);
    TestJob begun({9, 1, 1}, 4 << 20);
    fixture.reader->submit(begun);
    fixture.reader->progress();
    TestJob waiting({9, 1, 1}, 4096);
    fixture.reader->submit(waiting);
    fixture.reader.reset();
    CHECK(begun.done == 1);
    CHECK(begun.status == Status::cancelled);
    CHECK(waiting.done == 1);
  }
}

TEST_CASE("foreground reads are not kept waiting by bulk reads") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  write_volume(folder, 8 << 20);
  ScriptedFixture fixture(folder.path());
  std::vector<std::unique_ptr<TestJob>> bulk;
  for (int i = 0; i < 8; ++i) {
    bulk.push_back(std::make_unique<TestJob>(ObjectId{9, 1, 1}, 8 << 20));
    bulk.back()->bulk = true;
    fixture.reader->submit(*bulk.back());
  }
  fixture.reader->progress();
  TestJob small({9, 1, 1}, 4096);
  small.skip_crc = true;
  run(*fixture.reader, small);
  for (const auto& job : bulk) CHECK(job->done == 0);
  run_until(*fixture.reader, [&] { return !fixture.reader->busy(); });
  for (const auto& job : bulk) CHECK(job->status == Status::ok);
}

TEST_CASE("both queues read many places at once, short at the end of the file, and fail on a bad descriptor") {
  const Watchdog watchdog;
  const VolumeFolder folder;
  Bytes bytes(100'000);
  std::mt19937 random(1);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  write_file(folder.path() / "file", bytes);
  const Descriptor file(open((folder.path() / "file").c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (const bool use_io_uring : {true, false}) {
    auto queue = open_read_queue({.depth = 32, .use_io_uring = use_io_uring}, event.get(), [](std::string_view) {});
    REQUIRE(queue);
    for (int round = 0; round < 50; ++round) {
      std::vector<Bytes> rooms(32, Bytes(5'000));
      for (std::uint64_t i = 0; i < 32; ++i) (*queue)->push({i == 31 ? -1 : file.get(), rooms[i], i * 3'300, i});
      (*queue)->flush();
      std::array<FileReadEnd, 8> room;
      for (std::size_t ended = 0; ended < 32;) {
        for (const auto& end : (*queue)->reap(room)) {
          ++ended;
          if (end.token == 31) {
            CHECK(end.result == -EBADF);
            continue;
          }
          const std::uint64_t at = end.token * 3'300;
          REQUIRE(end.result == static_cast<std::int32_t>(std::min<std::uint64_t>(5'000, bytes.size() - at)));
          CHECK(same_bytes(std::span(rooms[end.token]).first(static_cast<std::size_t>(end.result)),
                           std::span(bytes).subspan(at, static_cast<std::size_t>(end.result))));
        }
        (*queue)->flush();
      }
    }
    CHECK((*queue)->arm());
  }
}

TEST_CASE("an end that comes after arm() is told by the descriptor, and one that a poller finds is not") {
  const Watchdog watchdog;
  const Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto queue = UringQueue::open(8, event.get());
  if (!queue) return;  // no io_uring here
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const Descriptor out(ends[0]);
  const Descriptor in(ends[1]);
  std::array<FileReadEnd, 8> room;
  Bytes byte(1);
  const auto read_one = [&](bool armed) {
    (*queue)->push({out.get(), byte, 0, 7});
    (*queue)->flush();
    if (armed) REQUIRE((*queue)->arm());
    REQUIRE(write(in.get(), "x", 1) == 1);
    pollfd news{event.get(), POLLIN, 0};
    // Without a bound where news must come: the watchdog has one.
    const bool told = armed ? poll(&news, 1, -1) == 1 : false;
    while ((*queue)->reap(room).empty()) {
    }
    return told || poll(&news, 1, 0) == 1;
  };
  CHECK_FALSE(read_one(false));
  CHECK(read_one(true));
  std::uint64_t count = 0;
  REQUIRE(read(event.get(), &count, sizeof count) == sizeof count);
  CHECK_FALSE(read_one(false));
  (*queue)->push({out.get(), byte, 0, 8});
  CHECK_FALSE((*queue)->arm());  // flush() has something to start
  (*queue)->flush();
  REQUIRE(write(in.get(), "x", 1) == 1);
  while ((*queue)->arm()) {
  }
  CHECK((*queue)->reap(room).front().token == 8);
}

TEST_CASE("memory is known to the kernel while it is added, and only then") {
  const Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto queue = UringQueue::open(8, event.get());
  if (!queue) return;  // no io_uring here
  Bytes first(1 << 20);
  Bytes second(1 << 16);
  (*queue)->add_memory(first);
  (*queue)->add_memory(second);
  const auto registered = (*queue)->registered();
  (*queue)->remove_memory(first);
  (*queue)->remove_memory(second);
  CHECK((registered == 2 || registered == 0));  // 0: the kernel, or RLIMIT_MEMLOCK, does not let us
  CHECK((*queue)->registered() == 0);
}

TEST_CASE("where io_uring is refused the reader warns and uses threads") {
  std::string warning;
  const auto queue = open_read_queue({.depth = 8}, -1, [&](std::string_view text) { warning = text; });
  REQUIRE(queue);
  CHECK(warning.find("threads") != std::string::npos);
}
