#include "segment/view.h"

#include <doctest/doctest.h>

#include <vector>

#include "segment/plan.h"

namespace rde::test {

TEST_CASE("a buffer is inside the arena, or empty") {
  const auto header = plan_segment({.total_size = 2 << 20});
  REQUIRE(header);
  std::vector<std::byte> memory(header->total_size);
  const SegmentView view(memory, *header);
  const auto pages = static_cast<std::uint32_t>(header->arena_size / RDE_ARENA_PAGE);
  const auto size = static_cast<std::uint32_t>(header->arena_size);
  struct Row {
    std::uint32_t page;
    std::uint32_t length;
    std::size_t want;
  };
  for (const auto& row : std::vector<Row>{{0, 0, 0},
                                          {0, 1, 1},
                                          {0, size, size},
                                          {0, size + 1, 0},
                                          {0, 0xFFFFFFFF, 0},
                                          {1, size - 4096, size - 4096},
                                          {1, size - 4095, 0},
                                          {pages - 1, 4096, 4096},
                                          {pages - 1, 4097, 0},
                                          {pages, 0, 0},
                                          {pages, 1, 0},
                                          {pages + 1, 1, 0},
                                          {0xFFFFFFFF, 1, 0},
                                          {0xFFFFFFFF, 0xFFFFFFFF, 0}}) {
    CAPTURE(row.page);
    CAPTURE(row.length);
    const auto buffer = view.buffer(row.page, row.length);
    CHECK(buffer.size() == row.want);
    if (!buffer.empty()) {
      CHECK(buffer.data() == memory.data() + header->arena_offset + std::uint64_t{row.page} * 4096);
    }
  }
}

TEST_CASE("the parts of a view lie where the header says") {
  const auto header = plan_segment({.total_size = 2 << 20, .channels = 2, .depth = 4, .shards = 3});
  REQUIRE(header);
  std::vector<std::byte> memory(header->total_size);
  const SegmentView view(memory, *header);
  const auto offset = [&](const void* part) {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(part) - memory.data());
  };
  CHECK(offset(view.engine_page()) == 4096);
  CHECK(offset(view.client_page()) == 8192);
  CHECK(offset(view.client_doorbell()) == header->doorbells_offset + 3 * sizeof(rde_doorbell));
  CHECK(offset(view.channel(1)) == header->channels_offset + header->channel_stride);
  CHECK(offset(view.requests(1)) == offset(view.channel(1)) + sizeof(rde_channel_lines));
  CHECK(offset(view.completions(1)) == offset(view.requests(1)) + 4 * sizeof(rde_request));
  CHECK(offset(view.events().data()) == header->recorder_offset + sizeof(rde_recorder_head));
  CHECK(offset(view.arena().data()) == header->arena_offset);
  CHECK(view.arena().data() + view.arena().size() == memory.data() + memory.size());
}

}  // namespace rde::test
