// What a hostile client can do to its segment before it answers MAPPED, and afterwards.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "hugepool.h"
#include "segment/segment.h"

namespace rde::test {
namespace {

constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

std::unique_ptr<Segment> make_segment(bool huge) {
  SegmentOptions options;
  options.plan.total_size = 2 * prim::kHugePage;
  options.hugepages = huge ? HugepageMode::require : HugepageMode::off;
  auto segment = Segment::create(options);
  REQUIRE_MESSAGE(segment, segment.error().text);
  return std::move(*segment);
}

// A client's mapping, made before the segment is hardened.
struct OldMapping {
  explicit OldMapping(const Segment& segment)
      : size(segment.bytes().size()),
        address(static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, segment.file(), 0))) {
    REQUIRE(address != MAP_FAILED);
  }
  ~OldMapping() { munmap(address, size); }
  OldMapping(const OldMapping&) = delete;
  OldMapping& operator=(const OldMapping&) = delete;
  std::size_t size;
  char* address;
};

bool can_map(int fd, int protection) {
  void* address = mmap(nullptr, prim::kHugePage, protection, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return false;
  munmap(address, prim::kHugePage);
  return true;
}

std::uint64_t allocated_bytes(int fd) {
  struct stat status {};
  REQUIRE(fstat(fd, &status) == 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

void with_each_backing(void (*test)(bool huge)) {
  test(false);
  const HugePool pool(4);
  if (pool) {
    test(true);
  } else {
    MESSAGE(HugePool::why());
  }
}

}  // namespace

TEST_CASE("a hardened segment has no holes and gets none") {
  with_each_backing([](bool huge) {
    CAPTURE(huge);
    const auto segment = make_segment(huge);
    const OldMapping old(*segment);
    REQUIRE(segment->harden());
    CHECK(fallocate(segment->file(), kPunch, 0, prim::kHugePage) != 0);
    CHECK(errno == EPERM);
    CHECK(madvise(old.address, prim::kHugePage, MADV_REMOVE) != 0);
    CHECK(allocated_bytes(segment->file()) >= segment->bytes().size());
  });
}

TEST_CASE("a hardened segment is never mapped for writing again, but old mappings stay") {
  with_each_backing([](bool huge) {
    CAPTURE(huge);
    const auto segment = make_segment(huge);
    const OldMapping old(*segment);
    REQUIRE(segment->harden());
    CHECK_FALSE(can_map(segment->file(), PROT_READ | PROT_WRITE));
    CHECK(can_map(segment->file(), PROT_READ));
    const std::string path = "/proc/self/fd/" + std::to_string(segment->file());
    const Descriptor again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    CHECK_FALSE(can_map(again.get(), PROT_READ | PROT_WRITE));
    CHECK(::pwrite(again.get(), "x", 1, 0) < 0);
    const Descriptor reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(reading);
    CHECK_FALSE(can_map(reading.get(), PROT_READ | PROT_WRITE));
    old.address[old.size - 1] = 7;
    CHECK(segment->bytes().back() == std::byte{7});
  });
}

TEST_CASE("a segment keeps its size from the start, and its seals once it is hardened") {
  with_each_backing([](bool huge) {
    CAPTURE(huge);
    const auto segment = make_segment(huge);
    const auto size = static_cast<off_t>(segment->bytes().size());
    for (const bool hardened : {false, true}) {
      CAPTURE(hardened);
      if (hardened) REQUIRE(segment->harden());
      CHECK(ftruncate(segment->file(), 0) != 0);
      CHECK(ftruncate(segment->file(), size + static_cast<off_t>(prim::kHugePage)) != 0);
      CHECK(fallocate(segment->file(), 0, size, prim::kHugePage) != 0);
    }
    CHECK(fcntl(segment->file(), F_ADD_SEALS, F_SEAL_WRITE) != 0);
    CHECK(errno == EPERM);
  });
}

TEST_CASE("holes that a client punched before it answered are filled again") {
  with_each_backing([](bool huge) {
    CAPTURE(huge);
    const auto segment = make_segment(huge);
    const OldMapping old(*segment);
    REQUIRE(fallocate(segment->file(), kPunch, 0, static_cast<off_t>(prim::kHugePage)) == 0);
    REQUIRE(madvise(old.address + prim::kHugePage, prim::kHugePage, MADV_REMOVE) == 0);
    CHECK(allocated_bytes(segment->file()) == 0);
    REQUIRE(segment->harden());
    CHECK(allocated_bytes(segment->file()) >= segment->bytes().size());
    std::vector<unsigned char> resident(segment->bytes().size() / 4096);
    REQUIRE(mincore(segment->bytes().data(), segment->bytes().size(), resident.data()) == 0);
    bool all = true;
    for (const auto page : resident) all = all && (page & 1U) != 0;
    CHECK(all);
  });
}

TEST_CASE("what a client wrote over header and rings before it answered is undone") {
  const auto segment = make_segment(false);
  const OldMapping old(*segment);
  const auto header = segment->view().header();
  std::memset(old.address, 0xFF, header.arena_offset);
  REQUIRE(segment->harden());
  segment->publish();
  rde_segment_header now;
  std::memcpy(&now, segment->bytes().data(), sizeof now);
  CHECK(now.ready == RDE_READY);
  now.ready = 0;
  CHECK(std::memcmp(&now, &header, sizeof now) == 0);
  bool zero = true;
  for (std::uint64_t at = sizeof header; at < header.arena_offset; ++at) zero = zero && old.address[at] == 0;
  CHECK(zero);
}

TEST_CASE("a segment is not ready before it is published") {
  const auto segment = make_segment(false);
  const auto* header = reinterpret_cast<const rde_segment_header*>(segment->bytes().data());
  CHECK(header->ready == 0);
  REQUIRE(segment->harden());
  CHECK(header->ready == 0);
  segment->publish();
  rde_segment_header copy;
  std::memcpy(&copy, header, sizeof copy);
  CHECK(check_header(copy, segment->bytes().size()));
}

TEST_CASE("a client that seals the file itself is refused") {
  const auto segment = make_segment(false);
  REQUIRE(fcntl(segment->file(), F_ADD_SEALS, F_SEAL_SEAL) == 0);
  const auto hardened = segment->harden();
  REQUIRE_FALSE(hardened);
  CHECK(hardened.error().text.find("seal") != std::string::npos);
}

TEST_CASE("a client that seals future writes itself gains nothing") {
  const auto segment = make_segment(false);
  REQUIRE(fcntl(segment->file(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
  CHECK(segment->harden());
}

TEST_CASE("only a sealed file counts as safe to map") {
  const auto segment = make_segment(false);
  CHECK(prim::check_seals(segment->file(), false));
  CHECK_FALSE(prim::check_seals(segment->file(), true));
  REQUIRE(segment->harden());
  CHECK(prim::check_seals(segment->file(), true));
  const auto loose = prim::make_memory_file("loose", false);
  REQUIRE(loose);
  CHECK(prim::check_seals(loose->get(), false).error().status == Status::segment_invalid);
  const Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(prim::check_seals(null.get(), false).error().status == Status::segment_invalid);
}

TEST_CASE("a mapping is not inherited by a forked child") {
  const auto segment = make_segment(false);
  char start[20];
  std::snprintf(start, sizeof start, "%lx-", reinterpret_cast<unsigned long>(segment->bytes().data()));
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  std::string flags;
  for (std::string line; flags.empty() && std::getline(smaps, line);) {
    if (line.rfind(start, 0) == 0) inside = true;
    if (inside && line.rfind("VmFlags:", 0) == 0) flags = line;
  }
  CHECK(flags.find(" dc") != std::string::npos);
}

TEST_CASE("an empty file and a file that cannot be mapped are errors") {
  const auto empty = prim::make_memory_file("empty", false);
  REQUIRE(empty);
  CHECK(Mapping::map(empty->get(), Mapping::Access::read_write).error().status == Status::segment_invalid);
  const auto segment = make_segment(false);
  REQUIRE(segment->harden());
  CHECK(Mapping::map(segment->file(), Mapping::Access::read_write).error().status == Status::system_error);
  CHECK(Mapping::map(segment->file(), Mapping::Access::read_only));
}

TEST_CASE("a segment leaves no descriptor and no memory behind") {
  const auto count = [] {
    unsigned descriptors = 0;
    for (int fd = 0; fd < 256; ++fd) descriptors += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return descriptors;
  };
  const auto before = count();
  for (unsigned i = 0; i < 20; ++i) CHECK(make_segment(false)->harden());
  CHECK(count() == before);
}

}  // namespace rde::test
