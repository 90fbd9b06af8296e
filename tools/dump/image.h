// The bytes of a segment that belongs to somebody else, for looking at: never written, never trusted.
//
//   auto image = SegmentImage::open({.file = Descriptor(fd)});
//   if (!image) return image.error();
//   Snapshot snapshot = take_snapshot(*image, {});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "segment/mapping.h"

namespace rde::tools {

// Where a segment can be read.
struct SegmentSource {
  Descriptor file;
  // A segment inside another process (file is its mem file): where it starts, and its size.
  std::uint64_t base = 0;
  std::optional<std::uint64_t> size;
  bool live = false;  // its processes may be running on this host
  std::string label;  // for people: where it was found
};

class SegmentImage {
 public:
  // A sealed segment is mapped for reading only, so that it is seen live. Anything else, which could shrink under a
  // mapping, is copied: the header and, where that holds together, everything before the arena.
  static Result<SegmentImage> open(SegmentSource source);

  // All of a mapped segment, or the copied part of another. Nothing may be stored there.
  [[nodiscard]] std::span<std::byte> bytes() const;
  [[nodiscard]] std::uint64_t total_size() const { return total_size_; }
  [[nodiscard]] const SegmentSource& source() const { return source_; }
  [[nodiscard]] bool is_mapped() const { return mapping_.has_value(); }

  // Writes a raw copy to a new file (mode 0600): everything before the arena, and the arena as well where `with_arena`
  // (else a hole is left for it). Errors name the path; a file that exists is not touched.
  [[nodiscard]] Result<void> save(const std::string& path, bool with_arena) const;

 private:
  explicit SegmentImage(SegmentSource source) : source_(std::move(source)) {}
  Result<void> copy();

  SegmentSource source_;
  std::uint64_t total_size_ = 0;
  std::optional<Mapping> mapping_;
  mutable std::vector<std::uint64_t> copy_;
  std::size_t copied_ = 0;
};

}  // namespace rde::tools
