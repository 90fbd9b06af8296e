#include "dump/image.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "prim/memory.h"
#include "segment/plan.h"

namespace rde::tools {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;

// Reads until `to` is full or the file ends; answers how much there was.
Result<std::size_t> read_at(int fd, std::uint64_t offset, std::span<std::byte> to, const std::string& label) {
  std::size_t done = 0;
  while (done < to.size()) {
    const auto count = pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read " + label, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<void> write_at(int fd, std::uint64_t offset, std::span<const std::byte> from, const std::string& path) {
  std::size_t done = 0;
  while (done < from.size()) {
    const auto count = pwrite(fd, from.data() + done, from.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("write '" + path + "'", errno);
    done += static_cast<std::size_t>(count);
  }
  return {};
}

// Without these seals its owner could shrink the file, or punch holes into it, under our mapping.
bool is_safe_to_map(int fd) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

}  // namespace

Result<SegmentImage> SegmentImage::open(SegmentSource source) {
  SegmentImage image(std::move(source));
  const auto& from = image.source_;
  if (from.size) {
    image.total_size_ = *from.size;
  } else {
    const auto size = prim::size_of_file(from.file.get());
    if (!size) return size.error().in(from.label);
    image.total_size_ = size->bytes;
    if (size->bytes >= sizeof(rde_segment_header) && is_safe_to_map(from.file.get())) {
      auto mapping = Mapping::map(from.file.get(), Mapping::Access::read_only);
      if (!mapping) return mapping.error().in(from.label);
      image.mapping_ = std::move(*mapping);
      return image;
    }
  }
  if (auto copied = image.copy(); !copied) return copied.error();
  return image;
}

Result<void> SegmentImage::copy() {
  const auto fill = [this](std::uint64_t bytes) -> Result<void> {
    copy_.assign((bytes + 7) / 8, 0);
    auto count = read_at(source_.file.get(), source_.base, std::as_writable_bytes(std::span(copy_)), source_.label);
    if (!count) return count.error();
    copied_ = *count;
    return {};
  };
  if (auto filled = fill(std::min<std::uint64_t>(total_size_, sizeof(rde_segment_header))); !filled) return filled;
  rde_segment_header header;
  if (copied_ < sizeof header) return {};
  std::memcpy(&header, copy_.data(), sizeof header);
  if (!check_header(header, total_size_)) return {};
  return fill(header.arena_offset);
}

std::span<std::byte> SegmentImage::bytes() const {
  if (mapping_) return mapping_->bytes();
  return std::as_writable_bytes(std::span(copy_)).first(std::min(copied_, copy_.size() * sizeof(std::uint64_t)));
}

Result<void> SegmentImage::save(const std::string& path, bool with_arena) const {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return system_error("--save '" + path + "' (give the name of a new file)", errno);
  if (ftruncate(file.get(), static_cast<off_t>(total_size_)) != 0) return system_error("size '" + path + "'", errno);

  rde_segment_header header{};
  if (bytes().size() >= sizeof header) std::memcpy(&header, bytes().data(), sizeof header);
  const bool is_whole = static_cast<bool>(check_header(header, total_size_));
  const std::uint64_t end = is_whole && !with_arena ? header.arena_offset : total_size_;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(end, kPiece)));
  for (std::uint64_t at = 0; at < end;) {
    const auto want = std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, kPiece)));
    const auto count = read_at(source_.file.get(), source_.base + at, want, source_.label);
    if (!count) return count.error();
    if (*count == 0) break;
    if (auto written = write_at(file.get(), at, want.first(*count), path); !written) return written;
    at += *count;
  }
  return {};
}

}  // namespace rde::tools
