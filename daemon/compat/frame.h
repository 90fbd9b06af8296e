// Frames of the older socket protocol: the length as a little-endian u32, then so many bytes of MessagePack.
//
//   FrameReader frames;
//   frames.add(received);
//   while (frames.next(payload) == FrameReader::Next::frame) handle(payload);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rde::compat {

inline constexpr std::uint32_t kLargestFrame = 1U << 20;  // of a request

class FrameReader {
 public:
  enum class Next {
    none,   // the rest has not come yet
    frame,  // `payload` is good until the next call
    bad,    // the length is 0 or over kLargestFrame: where the next frame would start is unknown
  };

  // What came from the socket. The memory kept is what has come, not what a length promises.
  void add(std::span<const std::byte> bytes);
  Next next(std::span<const std::byte>& payload);
  // Of the frame that is next; 0 while not even that has come.
  [[nodiscard]] std::uint32_t length() const;
  // Whether bytes of a frame are there.
  [[nodiscard]] bool has_part() const { return start_ < bytes_.size(); }
  [[nodiscard]] bool has_frame() const;

 private:
  std::vector<std::byte> bytes_;
  std::size_t start_ = 0;
};

// Adds a payload with its length in front.
void append_frame(std::vector<std::byte>& to, std::span<const std::byte> payload);

}  // namespace rde::compat
