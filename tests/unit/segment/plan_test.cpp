#include "segment/plan.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "parts.h"

namespace rde::test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace

TEST_CASE("the parts of every plan are aligned, apart and inside") {
  unsigned planned = 0;
  for (const std::uint64_t size : {2 * kMiB, 2 * kMiB + 1, 64 * kMiB, 8192 * kMiB, std::uint64_t{1} << 43}) {
    for (const std::uint32_t page : {4096U, 2U << 20}) {
      for (const std::uint32_t channels : {1U, 2U, 63U, 64U, 65U, 4096U}) {
        for (std::uint32_t depth = 2; depth <= 4096; depth *= 2) {
          for (const std::uint32_t shards : {1U, 16U}) {
            for (const std::uint64_t number :
                 {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{101}, ~std::uint64_t{0}}) {
              const auto plan = plan_segment({.total_size = size,
                                              .page_size = page,
                                              .channels = channels,
                                              .depth = depth,
                                              .shards = shards,
                                              .client_number = number});
              if (!plan) continue;
              ++planned;
              REQUIRE(fault_of_parts(*plan) == "");
              REQUIRE(plan->total_size >= size);
              REQUIRE(plan->total_size % page == 0);
            }
          }
        }
      }
    }
  }
  CHECK(planned > 500);
}

TEST_CASE("a plan that does not fit says how much it needs, and that much is enough") {
  const SegmentRequest request{.total_size = 2 * kMiB, .channels = 4096, .depth = 64};
  const auto refused = plan_segment(request);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::invalid_request);
  const auto& text = refused.error().text;
  CHECK(text.find("4096 channels of depth 64") != std::string::npos);
  const auto at = text.find("at least ");
  REQUIRE(at != std::string::npos);
  auto enough = request;
  enough.total_size = std::stoull(text.substr(at + 9));
  CHECK(plan_segment(enough));
  enough.total_size -= 4096;
  CHECK_FALSE(plan_segment(enough));
}

TEST_CASE("a number that no plan takes is refused by its name") {
  struct Row {
    const char* field;
    SegmentRequest request;
  };
  const std::vector<Row> rows{
      {"segment_size", {.total_size = 0}},
      {"segment_size", {.total_size = 2 * kMiB - 1}},
      {"segment_size", {.total_size = (std::uint64_t{1} << 43) + 1}},
      {"segment_size", {.total_size = ~std::uint64_t{0}}},
      {"page_size", {.page_size = 0}},
      {"page_size", {.page_size = 4095}},
      {"page_size", {.page_size = 65536}},
      {"page_size", {.page_size = 0xFFFFFFFF}},
      {"channels", {.channels = 0}},
      {"channels", {.channels = 4097}},
      {"channels", {.channels = 0xFFFFFFFF}},
      {"depth", {.depth = 0}},
      {"depth", {.depth = 1}},
      {"depth", {.depth = 63}},
      {"depth", {.depth = 8192}},
      {"depth", {.depth = 0x80000000}},
      {"shards", {.shards = 0}},
      {"shards", {.shards = 17}},
      {"shards", {.shards = 0xFFFFFFFF}},
      {"counters", {.counters = 65537}},
      {"counters", {.counters = 0xFFFFFFFF}},
      {"recorder_events", {.recorder_events = 0}},
      {"recorder_events", {.recorder_events = 3}},
      {"recorder_events", {.recorder_events = 131072}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.field);
    const auto plan = plan_segment(row.request);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().status == Status::invalid_request);
    CHECK(plan.error().text.rfind(std::string(row.field) + " = ", 0) == 0);
    CHECK(plan.error().text.find("want ") != std::string::npos);
  }
}

TEST_CASE("clients with other numbers have other colours") {
  const auto first = plan_segment({.client_number = 1});
  const auto second = plan_segment({.client_number = 2});
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->channels_offset - second->channels_offset == std::uint64_t{0} - RDE_COLOUR_STEP);
}

}  // namespace rde::test
