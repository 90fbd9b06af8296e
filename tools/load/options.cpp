#include "load/options.h"

#include <algorithm>
#include <bit>

#include "rde_layout.h"

namespace rde::tools {

std::uint32_t ring_depth_for(std::uint32_t depth) {
  for (std::uint32_t ring = RDE_MIN_DEPTH; ring <= RDE_MAX_DEPTH; ring *= 2) {
    const std::uint32_t reserved = ring >= 8 ? RDE_RESERVED_CREDITS : 0;
    if (ring - reserved >= depth) return ring;
  }
  return 0;
}

std::uint64_t segment_size_for(const LoadOptions& options) {
  if (options.segment_size != 0) return options.segment_size;
  constexpr std::uint64_t kMost = std::uint64_t{512} << 20;
  if (!options.mix.needs_objects()) return 0;
  std::uint64_t largest = RDE_ARENA_PAGE;
  if (options.mix.weight(Op::read) > 0) {
    for (const auto& object : options.objects) largest = std::max(largest, object.size);
  }
  const auto block = std::bit_ceil(std::min<std::uint64_t>(largest, options.piece));
  const std::uint64_t slots = std::uint64_t{options.producers} * ring_depth_for(options.depth) *
                              (sizeof(rde_request) + RDE_COMPLETIONS_PER_REQUEST * sizeof(rde_completion));
  // Twice what is needed, since buffers are powers of two and their joined blocks are not always at hand.
  const std::uint64_t buffers = 2 * block * options.producers * options.depth;
  return std::clamp<std::uint64_t>(std::bit_ceil(buffers + slots + (1U << 20)), RDE_DEFAULT_SEGMENT, kMost);
}

}  // namespace rde::tools
