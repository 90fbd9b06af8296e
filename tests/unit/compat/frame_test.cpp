// Frames in every piece that a socket may hand out.
#include "compat/frame.h"

#include <doctest/doctest.h>

#include <string>

using namespace rde::compat;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

}  // namespace

TEST_CASE("frames come out whole, however they are cut") {
  const auto three = bytes_of({1, 0, 0, 0, 9, 2, 0, 0, 0, 8, 7, 3, 0, 0, 0, 6, 5, 4});
  for (std::size_t piece = 1; piece <= three.size(); ++piece) {
    FrameReader frames;
    std::vector<std::size_t> lengths;
    for (std::size_t at = 0; at < three.size(); at += piece) {
      frames.add(std::span(three).subspan(at, std::min(piece, three.size() - at)));
      std::span<const std::byte> payload;
      while (frames.next(payload) == FrameReader::Next::frame) lengths.push_back(payload.size());
    }
    CHECK(lengths == std::vector<std::size_t>{1, 2, 3});
    CHECK_FALSE(frames.has_part());
  }
}

TEST_CASE("a length of 0 and one over a mebibyte are bad, and known by four bytes") {
  for (const auto& head : {bytes_of({0, 0, 0, 0}), bytes_of({1, 0, 16, 0}), bytes_of({255, 255, 255, 255})}) {
    FrameReader frames;
    frames.add(std::span(head).first(3));
    CHECK_FALSE(frames.has_frame());
    frames.add(std::span(head).last(1));
    CHECK(frames.has_frame());
    std::span<const std::byte> payload;
    CHECK(frames.next(payload) == FrameReader::Next::bad);
  }
}

TEST_CASE("the largest frame is taken") {
  std::vector<std::byte> frame;
  append_frame(frame, std::vector<std::byte>(kLargestFrame));
  FrameReader frames;
  frames.add(frame);
  std::span<const std::byte> payload;
  REQUIRE(frames.next(payload) == FrameReader::Next::frame);
  CHECK(payload.size() == kLargestFrame);
}

TEST_CASE("half a frame is no frame") {
  FrameReader frames;
  frames.add(bytes_of({5, 0, 0, 0, 1, 2}));
  std::span<const std::byte> payload;
  CHECK(frames.next(payload) == FrameReader::Next::none);
  CHECK(frames.has_part());
}
