#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "client/client.h"
#include "dump/print.h"
#include "dump/snapshot.h"
#include "dump/target.h"
#include "test_engine.h"

using namespace rde;
using namespace rde::tools;

namespace {

std::unique_ptr<Segment> make_segment(std::uint32_t channels = 2, std::uint32_t depth = 8) {
  SegmentOptions options;
  options.plan = {.total_size = RDE_MIN_SEGMENT, .channels = channels, .depth = depth, .client_number = 5};
  options.hugepages = HugepageMode::off;
  options.engine_pid = 11;
  options.client_pid = 12;
  auto segment = Segment::create(options);
  REQUIRE_MESSAGE(segment, segment.error().text);
  return std::move(*segment);
}

SegmentSource source_of(int fd) { return {.file = Descriptor(dup(fd)), .label = "test"}; }

Snapshot snapshot_of(int fd, std::uint32_t last = 8) {
  auto image = SegmentImage::open(source_of(fd));
  REQUIRE_MESSAGE(image, image.error().text);
  return take_snapshot(*image, {.last = last});
}

std::string text_of(const Snapshot& snapshot) {
  std::ostringstream out;
  print_text(out, snapshot);
  return out.str();
}

// Whatever the bytes are, both printers come to an end and stay inside.
void print_both(const Snapshot& snapshot) {
  CHECK_FALSE(text_of(snapshot).empty());
  const auto json = to_json(snapshot).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  CHECK_FALSE(json.empty());
}

class FileOf {
 public:
  explicit FileOf(std::span<const std::byte> bytes) : path_(folder_.file("segment")) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    fd_ = Descriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(fd_);
  }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
  Descriptor fd_;
};

}  // namespace

TEST_CASE("a segment that is not published is refused with the state named") {
  const auto segment = make_segment();
  const auto snapshot = snapshot_of(segment->file());
  REQUIRE(snapshot.fault);
  CHECK(snapshot.fault->status == Status::segment_not_ready);
}

TEST_CASE("an unsealed segment is copied and a hardened one is mapped") {
  const auto segment = make_segment();
  CHECK_FALSE(SegmentImage::open(source_of(segment->file()))->is_mapped());
  REQUIRE(segment->harden());
  CHECK(SegmentImage::open(source_of(segment->file()))->is_mapped());
}

TEST_CASE("requests and completions are decoded by name, newest first") {
  const auto segment = make_segment();
  REQUIRE(segment->harden());
  segment->publish();
  const auto& view = segment->view();
  RingWriter<rde_request> requests(view.requests(1), 8);
  requests.write({.op = RDE_OP_NOP, .tag = 0xA1});
  rde_request read{.op = RDE_OP_OBJECT_READ, .tag = 0xA2, .length = 4096};
  const rde_object_args args{.needle = 1, .volume = 3, .cookie = 0x637037d6, .offset = 512};
  std::memcpy(read.args, &args, sizeof args);
  requests.write(read);
  RingWriter<rde_completion> completions(view.completions(1), 32);
  completions.write({.status = RDE_OBJECT_NOT_FOUND, .tag = 0xA1});
  store_relaxed(&view.channel(1)->requests_taken, std::uint64_t{1});

  const auto snapshot = snapshot_of(segment->file());
  REQUIRE_FALSE(snapshot.fault);
  const auto& channel = snapshot.channels[1];
  CHECK(channel.requests.written == 2);
  CHECK(channel.requests.waiting == 1);
  CHECK(channel.requests.next_slot == 2);
  CHECK(channel.completions.waiting == 1);
  REQUIRE(channel.last_requests.size() == 2);
  CHECK(channel.last_requests[0].request.tag == 0xA2);
  CHECK_FALSE(channel.last_requests[0].taken);
  CHECK(channel.last_requests[1].answer == RDE_OBJECT_NOT_FOUND);

  const auto text = text_of(snapshot);
  CHECK(text.find("OBJECT_READ tag 0xa2") != std::string::npos);
  CHECK(text.find("3,01637037d6 offset 512 -> waiting") != std::string::npos);
  CHECK(text.find("NOP tag 0xa1, buffer page 0 length 0 -> object_not_found") != std::string::npos);
  const auto json = to_json(snapshot);
  CHECK(json["channels"][1]["last_requests"][0]["op"] == "OBJECT_READ");
  CHECK(json["channels"][1]["last_completions"][0]["status"] == "object_not_found");
  CHECK(json["channels"][1]["requests"]["next_slot"]["unstable"] == true);
}

TEST_CASE("a dump leaves every byte of a live segment as it was") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  engine.start();
  auto client = Client::attach({.socket = engine.socket(), .channels = 2, .depth = 8});
  REQUIRE(client);
  for (int i = 0; i < 5; ++i) REQUIRE((*client)->channel(0).submit({.op = RDE_OP_NOP}));
  while (load_relaxed(&(*client)->channel(0).lines()->completions_posted) != 5) sched_yield();
  const auto bytes = (*client)->attachment().mapping.bytes();
  const std::vector<std::byte> before(bytes.begin(), bytes.end());

  auto found = find_segments(engine.socket(), std::nullopt);
  REQUIRE_MESSAGE(found, found.error().text);
  REQUIRE(found->sources.size() == 1);
  auto image = SegmentImage::open(std::move(found->sources[0]));
  REQUIRE(image);
  CHECK(image->is_mapped());
  const auto snapshot = take_snapshot(*image, {});
  CHECK(snapshot.channels[0].requests.written == 5);
  CHECK(snapshot.channels[0].completions.waiting == 5);
  CHECK(std::memcmp(before.data(), bytes.data(), before.size()) == 0);
}

TEST_CASE("a segment is found through the process that holds it, by mapping alone as well") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  engine.start();
  auto client = Client::attach({.socket = engine.socket()});
  REQUIRE(client);
  const auto here = std::to_string(getpid());
  {
    const auto with_engine = find_segments(here, std::nullopt);
    REQUIRE(with_engine);
    CHECK(with_engine->sources.size() == 1);
  }
  engine.stop();  // the engine's descriptor and mapping are gone; the client's mapping stays
  auto alone = find_segments(here, std::nullopt);
  REQUIRE(alone);
  REQUIRE(alone->sources.size() == 1);
  CHECK(alone->sources[0].label.find("mapping") != std::string::npos);
  auto image = SegmentImage::open(std::move(alone->sources[0]));
  REQUIRE(image);
  CHECK_FALSE(take_snapshot(*image, {}).fault);
}

TEST_CASE("a segment can be read out of a process's memory") {
  const auto segment = make_segment();
  segment->publish();
  Descriptor memory(open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  REQUIRE(memory);
  const auto bytes = segment->bytes();
  auto image = SegmentImage::open({.file = std::move(memory),
                                   .base = reinterpret_cast<std::uint64_t>(bytes.data()),
                                   .size = bytes.size(),
                                   .live = true,
                                   .label = "memory"});
  REQUIRE_MESSAGE(image, image.error().text);
  const auto snapshot = take_snapshot(*image, {});
  CHECK_FALSE(snapshot.fault);
  CHECK(snapshot.header.client_number == 5);
}

TEST_CASE("a saved segment reads like the live one and its arena is left out") {
  const auto segment = make_segment();
  REQUIRE(segment->harden());
  segment->publish();
  RingWriter<rde_request> requests(segment->view().requests(0), 8);
  requests.write({.op = RDE_OP_PING, .tag = 3});
  segment->view().arena()[100] = std::byte{0x5A};
  auto image = SegmentImage::open(source_of(segment->file()));
  REQUIRE(image);
  test::TemporaryFolder folder;
  const auto path = folder.file("saved");
  REQUIRE(image->save(path, false));
  CHECK_FALSE(image->save(path, false));  // never over a file that exists
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600);
  CHECK(static_cast<std::uint64_t>(status.st_size) == segment->bytes().size());

  auto found = find_segments(path, std::nullopt);
  REQUIRE(found);
  auto saved = SegmentImage::open(std::move(found->sources[0]));
  REQUIRE(saved);
  const auto snapshot = take_snapshot(*saved, {});
  REQUIRE_FALSE(snapshot.fault);
  CHECK(snapshot.channels[0].last_requests[0].request.tag == 3);
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(snapshot.header.arena_offset + 100));
  CHECK(file.get() == 0);
}

TEST_CASE("a file cut at any length is refused or read, never over-read") {
  const auto segment = make_segment(1, 2);
  segment->publish();
  const FileOf file(segment->bytes());
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i) {
    const off_t size = i < 30 ? i * 16 : static_cast<off_t>(random() % RDE_MIN_SEGMENT);
    REQUIRE(ftruncate(file.fd(), size) == 0);
    const auto snapshot = snapshot_of(file.fd());
    CHECK(snapshot.fault);
    print_both(snapshot);
  }
}

TEST_CASE("files of random bytes are refused") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::uint64_t> words(random() % 2000);
    for (auto& word : words) word = random();
    const FileOf file(std::as_bytes(std::span(words)));
    const auto snapshot = snapshot_of(file.fd());
    CHECK(snapshot.fault);
    print_both(snapshot);
  }
}

TEST_CASE("a sound header over garbage is printed within bounds") {
  std::mt19937_64 random(9);
  for (int i = 0; i < 30; ++i) {
    const auto segment = make_segment(1 + static_cast<std::uint32_t>(i) * 4, 1U << (1 + i % 6));
    segment->publish();
    const auto bytes = segment->bytes().subspan(RDE_HEADER_BYTES);
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      // Small numbers now and then, so that laps and cursors are sometimes nearly right.
      const std::uint64_t word = random() >> (random() % 3 == 0 ? 62 : 0);
      std::memcpy(bytes.data() + at, &word, sizeof word);
    }
    print_both(snapshot_of(segment->file(), i % 2 == 0 ? 8 : 100'000));
  }
}

TEST_CASE("every single changed byte of the header is noticed") {
  const auto segment = make_segment();
  segment->publish();
  for (std::size_t at = 0; at < sizeof(rde_segment_header); ++at) {
    segment->bytes()[at] ^= std::byte{0x40};
    CHECK(snapshot_of(segment->file()).fault);
    segment->bytes()[at] ^= std::byte{0x40};
  }
  CHECK_FALSE(snapshot_of(segment->file()).fault);
}

TEST_CASE("a target that names nothing says what to give") {
  const auto missing = find_segments("/nonexistent/attach.sock", std::nullopt);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("/nonexistent/attach.sock") != std::string::npos);
  CHECK(missing.error().text.find("process id") != std::string::npos);
  CHECK_FALSE(find_segments("99999999999999999999", std::nullopt));
  CHECK_FALSE(find_segments("/tmp", std::nullopt));
}
