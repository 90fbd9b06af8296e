// Checks that several operations share.
#pragma once

#include <cstring>
#include <span>

#include "base/status.h"
#include "rde_layout.h"
#include "segment/view.h"

namespace rde {

template <class Args>
Args args_of(const rde_request& request) {
  static_assert(sizeof(Args) == sizeof request.args);
  Args args;
  std::memcpy(&args, request.args, sizeof args);
  return args;
}

inline bool is_zero(std::span<const std::uint8_t> bytes) {
  std::uint8_t any = 0;
  for (const auto byte : bytes) any = static_cast<std::uint8_t>(any | byte);
  return any == 0;
}

struct CheckedBuffer {
  Status status = Status::ok;
  std::span<std::byte> bytes;
};

// The buffer that a request names: 1 byte at least, all of it in the arena.
inline CheckedBuffer buffer_of(const SegmentView& view, const rde_request& request) {
  if (request.length == 0) return {Status::length_zero, {}};
  const auto bytes = view.buffer(request.buffer_page, request.length);
  if (bytes.empty()) return {Status::buffer_out_of_range, {}};
  return {Status::ok, bytes};
}

}  // namespace rde
