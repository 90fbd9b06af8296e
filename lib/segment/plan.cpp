#include "segment/plan.h"

#include <bit>
#include <cstring>
#include <string>

#include "base/crc32c.h"

namespace rde {
namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kMinArena = 16 * RDE_ARENA_PAGE;
constexpr std::uint64_t kMaxSegment = std::uint64_t{1} << 43;
constexpr std::uint32_t kMostRecords = 65'536;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

Error bad(const char* field, std::uint64_t value, const std::string& want) {
  return {Status::invalid_request, std::string(field) + " = " + std::to_string(value) + ": " + want};
}

std::uint64_t channel_bytes(std::uint32_t depth) {
  return sizeof(rde_channel_lines) + std::uint64_t{depth} * sizeof(rde_request) +
         std::uint64_t{depth} * RDE_COMPLETIONS_PER_REQUEST * sizeof(rde_completion);
}

bool is_depth(std::uint32_t depth) {
  return std::has_single_bit(depth) && depth >= RDE_MIN_DEPTH && depth <= RDE_MAX_DEPTH;
}

Result<void> check_request(const SegmentRequest& request) {
  if (request.page_size != 4096 && request.page_size != (2U << 20)) {
    return bad("page_size", request.page_size, "want 4096 or 2097152");
  }
  if (request.shards < 1 || request.shards > RDE_MAX_SHARDS) return bad("shards", request.shards, "want 1 to 16");
  if (!is_depth(request.depth)) return bad("depth", request.depth, "want a power of two from 2 to 4096");
  if (request.channels < 1 || request.channels > RDE_MAX_CHANNELS) {
    return bad("channels", request.channels, "want 1 to 4096");
  }
  if (request.counters > kMostRecords) return bad("counters", request.counters, "want at most 65536");
  if (!std::has_single_bit(request.recorder_events) || request.recorder_events > kMostRecords) {
    return bad("recorder_events", request.recorder_events, "want a power of two, at most 65536");
  }
  if (request.total_size < RDE_MIN_SEGMENT || request.total_size > kMaxSegment) {
    return bad("segment_size", request.total_size, "want 2 MiB (2097152) to 8 TiB");
  }
  return {};
}

}  // namespace

Result<rde_segment_header> plan_segment(const SegmentRequest& request) {
  if (auto checked = check_request(request); !checked) return checked.error();
  rde_segment_header header{};
  header.page_size = request.page_size;
  header.total_size = round_up(request.total_size, request.page_size);
  header.client_number = request.client_number;
  header.shard_count = request.shards;
  header.channel_count = request.channels;
  header.depth = request.depth;
  header.completion_depth = request.depth * RDE_COMPLETIONS_PER_REQUEST;
  header.counter_count = request.counters;
  header.recorder_events = request.recorder_events;
  header.engine_page_offset = RDE_ENGINE_PAGE_OFFSET;
  header.client_page_offset = RDE_CLIENT_PAGE_OFFSET;
  // Words that the engine polls across clients would all fall into the same cache sets, were it not for the colour.
  std::uint64_t at = RDE_COLOURED_OFFSET + request.client_number % RDE_COLOURS * RDE_COLOUR_STEP;
  header.doorbells_offset = at;
  at += (request.shards + std::uint64_t{1}) * sizeof(rde_doorbell);
  header.channels_offset = at;
  // An odd number of lines from channel to channel spreads the next slots over the cache sets.
  header.channel_stride = (channel_bytes(request.depth) / kLine | 1U) * kLine;
  at += header.channel_stride * request.channels;
  header.counters_offset = at;
  at += std::uint64_t{request.counters} * sizeof(rde_counter);
  header.recorder_offset = at;
  at += sizeof(rde_recorder_head) + std::uint64_t{request.recorder_events} * sizeof(rde_recorder_event);
  header.arena_offset = round_up(at, RDE_ARENA_PAGE);
  if (header.arena_offset + kMinArena > header.total_size) {
    return bad("segment_size", request.total_size,
               std::to_string(request.channels) + " channels of depth " + std::to_string(request.depth) +
                   " need at least " + std::to_string(header.arena_offset + kMinArena) +
                   " bytes; ask for a larger segment or fewer channels");
  }
  header.arena_size = header.total_size - header.arena_offset;
  return header;
}

Result<void> check_header(const rde_segment_header& header, std::uint64_t mapped_size) {
  const auto invalid = [](const char* field, std::uint64_t value) {
    return Error{Status::segment_invalid, std::string("segment header: ") + field + " = " + std::to_string(value)};
  };
  if (header.ready != RDE_READY) {
    return Error{Status::segment_not_ready,
                 "segment not initialised: the ready word is " + std::to_string(header.ready)};
  }
  if (header.magic != RDE_MAGIC) return invalid("magic", header.magic);
  if (header.endian_mark != RDE_ENDIAN_MARK) return invalid("endian_mark", header.endian_mark);
  if (header.abi_major != RDE_ABI_MAJOR || header.layout_hash != RDE_LAYOUT_HASH) {
    return Error{Status::version_mismatch, "the segment has ABI " + std::to_string(header.abi_major) + "." +
                                               std::to_string(header.abi_minor) + ", this program " +
                                               std::to_string(RDE_ABI_MAJOR) + "." + std::to_string(RDE_ABI_MINOR) +
                                               " (or another layout hash); install the same release on both sides"};
  }
  if (header.header_size != sizeof header) return invalid("header_size", header.header_size);
  const auto* start = reinterpret_cast<const std::byte*>(&header);
  if (crc32c({start, offsetof(rde_segment_header, header_crc)}) != header.header_crc) {
    return invalid("header_crc", header.header_crc);
  }
  if (header.required_features != 0) return invalid("required_features", header.required_features);
  for (const auto byte : header.reserved) {
    if (byte != 0) return invalid("reserved", byte);
  }
  if (header.total_size != mapped_size) return invalid("total_size", header.total_size);
  // A header is right only where planning with its own numbers gives the same table: so no part can overlap or leave.
  const auto plan = plan_segment({.total_size = header.total_size,
                                  .page_size = header.page_size,
                                  .channels = header.channel_count,
                                  .depth = header.depth,
                                  .shards = header.shard_count,
                                  .counters = header.counter_count,
                                  .recorder_events = header.recorder_events,
                                  .client_number = header.client_number});
  if (!plan) return Error{Status::segment_invalid, "segment header: " + plan.error().text};
  // Planning rounds up to whole pages: a size that is not, would put the arena's end behind the mapping's.
  if (plan->total_size != header.total_size) return invalid("total_size", header.total_size);
  if (plan->completion_depth != header.completion_depth) return invalid("completion_depth", header.completion_depth);
  constexpr auto kTable = offsetof(rde_segment_header, engine_page_offset);
  constexpr auto kTableEnd = offsetof(rde_segment_header, shard_count);
  const auto* want = reinterpret_cast<const std::byte*>(&*plan);
  if (std::memcmp(start + kTable, want + kTable, kTableEnd - kTable) != 0)
    return invalid("offset table", header.arena_offset);
  return {};
}

}  // namespace rde
