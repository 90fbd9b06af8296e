#include "compat/frame.h"

namespace rde::compat {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kKept = 65'536;  // capacity that an idle connection may keep

bool is_good(std::uint32_t length) { return length != 0 && length <= kLargestFrame; }

}  // namespace

void FrameReader::add(std::span<const std::byte> bytes) {
  if (start_ == bytes_.size()) {
    bytes_.clear();
    if (bytes_.capacity() > kKept) bytes_.shrink_to_fit();
  } else {
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(start_));
  }
  start_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::uint32_t FrameReader::length() const {
  if (bytes_.size() - start_ < kLengthBytes) return 0;
  std::uint32_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;)
    length = length << 8 | std::to_integer<std::uint32_t>(bytes_[start_ + i]);
  return length;
}

bool FrameReader::has_frame() const {
  const std::size_t left = bytes_.size() - start_;
  return left >= kLengthBytes && (!is_good(length()) || left - kLengthBytes >= length());
}

FrameReader::Next FrameReader::next(std::span<const std::byte>& payload) {
  if (!has_frame()) return Next::none;
  const std::uint32_t bytes = length();
  if (!is_good(bytes)) return Next::bad;
  payload = std::span(bytes_).subspan(start_ + kLengthBytes, bytes);
  start_ += kLengthBytes + bytes;
  return Next::frame;
}

void append_frame(std::vector<std::byte>& to, std::span<const std::byte> payload) {
  for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::byte>(payload.size() >> shift));
  to.insert(to.end(), payload.begin(), payload.end());
}

}  // namespace rde::compat
