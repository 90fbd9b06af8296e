// A request with the arguments of its operation.
#pragma once

#include <cstdint>
#include <cstring>

#include "rde_layout.h"

namespace rde {

template <class Args>
rde_request request_with(rde_op op, std::uint64_t handle, const Args& args) {
  static_assert(sizeof args == sizeof rde_request::args);
  rde_request request{};
  request.op = static_cast<std::uint8_t>(op);
  request.handle = handle;
  std::memcpy(request.args, &args, sizeof args);
  return request;
}

}  // namespace rde
