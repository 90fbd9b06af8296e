#include <doctest/doctest.h>
#include <fcntl.h>

#include "hugepool.h"
#include "segment/segment.h"

namespace rde::test {
namespace {

// More than the pool has, however large it is.
SegmentOptions too_large(HugepageMode mode) {
  SegmentOptions options;
  options.plan.total_size = (prim::huge_pool().free + 2) * prim::kHugePage;
  options.hugepages = mode;
  return options;
}

}  // namespace

TEST_CASE("require refuses where the pool is too small, and names need and pool") {
  const auto options = too_large(HugepageMode::require);
  const auto segment = Segment::create(options);
  REQUIRE_FALSE(segment);
  CHECK(segment.error().status == Status::no_hugepages);
  const auto needed = std::to_string(options.plan.total_size / prim::kHugePage);
  CHECK(segment.error().text.find("needed: " + needed) != std::string::npos);
  CHECK(segment.error().text.find("vm.nr_hugepages") != std::string::npos);
  CHECK(segment.error().text.find("--hugepages prefer") != std::string::npos);
}

TEST_CASE("prefer takes ordinary pages where the pool is too small, and says why") {
  const auto segment = Segment::create(too_large(HugepageMode::prefer));
  REQUIRE(segment);
  CHECK((*segment)->view().header().page_size == 4096);
  CHECK((*segment)->shortage().find("hugepages") != std::string::npos);
  CHECK((*segment)->shortage().find("--hugepages prefer") == std::string::npos);  // it is what was asked for
}

TEST_CASE("off takes ordinary pages in silence") {
  SegmentOptions options;
  options.plan.total_size = RDE_MIN_SEGMENT;
  options.hugepages = HugepageMode::off;
  const auto segment = Segment::create(options);
  REQUIRE(segment);
  CHECK((*segment)->view().header().page_size == 4096);
  CHECK((*segment)->shortage().empty());
}

TEST_CASE("a refused plan is not tried again on other pages") {
  SegmentOptions options;
  options.plan.total_size = 1;
  const auto segment = Segment::create(options);
  REQUIRE_FALSE(segment);
  CHECK(segment.error().status == Status::invalid_request);
  CHECK(segment.error().text.find("segment_size = 1") != std::string::npos);
}

TEST_CASE("require and prefer take hugepages where there are some") {
  const HugePool pool(4);
  if (!pool) {
    MESSAGE(HugePool::why());
    return;
  }
  for (const auto mode : {HugepageMode::require, HugepageMode::prefer}) {
    SegmentOptions options;
    options.plan.total_size = prim::kHugePage + 1;
    options.hugepages = mode;
    const auto segment = Segment::create(options);
    REQUIRE_MESSAGE(segment, segment.error().text);
    CHECK((*segment)->view().header().page_size == prim::kHugePage);
    CHECK((*segment)->view().header().total_size == 2 * prim::kHugePage);
    const auto hardened = (*segment)->harden();
    CHECK_MESSAGE(hardened, hardened.error().text);
  }
}

TEST_CASE("a hugepage that a client has stolen is an error, not a crash") {
  const HugePool pool(1);
  if (!pool) {
    MESSAGE(HugePool::why());
    return;
  }
  SegmentOptions options;
  options.plan.total_size = prim::kHugePage;
  options.hugepages = HugepageMode::require;
  const auto segment = Segment::create(options);
  REQUIRE_MESSAGE(segment, segment.error().text);
  REQUIRE(fallocate((*segment)->file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, prim::kHugePage) == 0);
  // The thief takes every page that is left.
  const auto free = prim::huge_pool().free;
  const auto thief = prim::make_memory_file("thief", true);
  REQUIRE(thief);
  REQUIRE(prim::size_and_seal(thief->get(), free * prim::kHugePage));
  REQUIRE(prim::allocate(thief->get(), free * prim::kHugePage, true));
  const auto hardened = (*segment)->harden();
  REQUIRE_FALSE(hardened);
  CHECK(hardened.error().status == Status::no_hugepages);
}

}  // namespace rde::test
