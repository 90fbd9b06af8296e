// The requests of a session: a transfer of one or more reads that the engine limits in time and checks as a whole.
//
//   const auto opened = client->call(channel, open_session_request(30 * kSecond), 0);
//   client->call(channel, in_session(read, opened->value), 0);        // `read` is an OBJECT_READ or OBJECT_STAT
//   client->call(channel, close_session_request(opened->value, {.bytes = bytes, .crc = crc}), 0);
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "client/request.h"
#include "rde_layout.h"

namespace rde {

// A timeout of 0 is the engine's default; a peer of 0 lets the engine find each volume. The completion's value is the
// session.
inline rde_request open_session_request(Nanoseconds timeout = 0, std::uint64_t peer = 0) {
  return request_with(RDE_OP_SESSION_OPEN, peer, rde_session_open_args{.timeout_ns = timeout, .reserved = {}});
}

// The same read, in a session; its peer is the session's.
inline rde_request in_session(rde_request request, std::uint64_t session) {
  request.handle = session;
  request.flags |= RDE_REQUEST_FLAG_IN_SESSION;
  return request;
}

struct SessionClosing {
  bool failed = false;
  std::uint64_t bytes = 0;                          // that arrived
  std::optional<std::uint32_t> crc = std::nullopt;  // CRC32C of them, in the order of the reads' completions
};

// The completion has the engine's CRC32C, and in `value` the bytes that it delivered; crc_mismatch where they differ.
inline rde_request close_session_request(std::uint64_t session, const SessionClosing& closing = {}) {
  return request_with(RDE_OP_SESSION_CLOSE, session,
                      rde_session_close_args{.bytes = closing.bytes,
                                             .crc = closing.crc.value_or(0),
                                             .result = static_cast<std::uint8_t>(
                                                 closing.failed ? RDE_SESSION_RESULT_FAILED : RDE_SESSION_RESULT_DONE),
                                             .flags = static_cast<std::uint8_t>(closing.crc ? RDE_SESSION_FLAG_CRC : 0),
                                             .reserved0 = 0,
                                             .reserved = 0});
}

}  // namespace rde
