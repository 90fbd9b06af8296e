// Typed access to the parts of a mapped segment. Offsets come from a header that was checked and copied, never from the
// segment again.
//
//   SegmentView view(mapping.bytes(), header);
//   RingReader<rde_request> requests(view.requests(0), header.depth);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "rde_layout.h"

namespace rde {

class SegmentView {
 public:
  SegmentView() = default;
  SegmentView(std::span<std::byte> bytes, const rde_segment_header& header) : start_(bytes.data()), header_(header) {}

  [[nodiscard]] const rde_segment_header& header() const { return header_; }
  [[nodiscard]] rde_engine_page* engine_page() const { return at<rde_engine_page>(header_.engine_page_offset); }
  [[nodiscard]] rde_client_page* client_page() const { return at<rde_client_page>(header_.client_page_offset); }
  [[nodiscard]] rde_doorbell* shard_doorbell(std::uint32_t shard) const {
    return at<rde_doorbell>(header_.doorbells_offset) + shard;
  }
  [[nodiscard]] rde_doorbell* client_doorbell() const { return shard_doorbell(header_.shard_count); }
  [[nodiscard]] rde_channel_lines* channel(std::uint32_t index) const {
    return at<rde_channel_lines>(header_.channels_offset + index * header_.channel_stride);
  }
  [[nodiscard]] rde_request* requests(std::uint32_t index) const {
    return reinterpret_cast<rde_request*>(channel(index) + 1);
  }
  [[nodiscard]] rde_completion* completions(std::uint32_t index) const {
    return reinterpret_cast<rde_completion*>(requests(index) + header_.depth);
  }
  [[nodiscard]] std::span<rde_counter> counters() const {
    return {at<rde_counter>(header_.counters_offset), header_.counter_count};
  }
  [[nodiscard]] rde_recorder_head* recorder() const { return at<rde_recorder_head>(header_.recorder_offset); }
  [[nodiscard]] std::span<rde_recorder_event> events() const {
    return {reinterpret_cast<rde_recorder_event*>(recorder() + 1), header_.recorder_events};
  }
  [[nodiscard]] std::span<std::byte> arena() const { return {start_ + header_.arena_offset, header_.arena_size}; }

  // The bytes of a buffer, or an empty span where it does not lie in the arena. A length of 0 is empty too.
  [[nodiscard]] std::span<std::byte> buffer(std::uint32_t page, std::uint32_t length) const {
    const std::uint64_t offset = std::uint64_t{page} * RDE_ARENA_PAGE;
    if (offset > header_.arena_size || length > header_.arena_size - offset) return {};
    return arena().subspan(offset, length);
  }

 private:
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(start_ + offset);
  }

  std::byte* start_ = nullptr;
  rde_segment_header header_{};
};

}  // namespace rde
