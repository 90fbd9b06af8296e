// The connector's side of the door; see ucx_door.h. Never blocks.
//
//   auto knock = UcxKnocking::begin(where);
//   for (;;) { auto ucx = knock->step(); if (!ucx) …; if (*ucx) return connect_ucx(**ucx); }
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/host_port.h"
#include "transport/ucx/ucx_wire.h"

namespace rde {

class UcxKnocking {
 public:
  // peer_unreachable.
  static Result<UcxKnocking> begin(const SocketAddress& where);

  // Nothing yet, or where UCX listens. peer_unreachable, peer_version, protocol_error (no engine there).
  Result<std::optional<SocketAddress>> step();

  // Readable, or writable until the knock is out.
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  [[nodiscard]] bool is_sent() const { return is_sent_; }
  // The UCX of the other side, once it has answered.
  [[nodiscard]] const std::string& their_ucx() const { return their_ucx_; }

 private:
  explicit UcxKnocking(const SocketAddress& where) : where_(where) {}
  Result<std::optional<SocketAddress>> read_answer();

  SocketAddress where_;
  Descriptor socket_;
  bool is_sent_ = false;
  std::size_t taken_ = 0;
  UcxAnswer answer_{};
  std::string their_ucx_;
};

}  // namespace rde
