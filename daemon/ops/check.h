// Checks that several operations share.
//
//   const auto buffer = buffer_of(view, request);
//   if (buffer.status != Status::ok) return refuse(buffer.status);
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

inline bool no_args(const rde_request& request) {
  std::uint64_t words[sizeof request.args / sizeof(std::uint64_t)];
  std::memcpy(words, request.args, sizeof words);
  return (words[0] | words[1] | words[2]) == 0;
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
