// Unix sockets that carry whole messages and descriptors, and the descriptors that wake a sleeper.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/status.h"

namespace rde::prim {

// All descriptors are CLOEXEC. Waits for at most `timeout` (not 0) while the listener's queue is full. Errors:
// system_error, segment_not_ready (time-out).
Result<Descriptor> connect_seqpacket(const std::string& path, Nanoseconds timeout);

// Whether somebody listens on a socket file, with whatever type of socket; never blocks. Errors where that cannot be
// told.
Result<bool> is_listening(const std::string& path);

struct Received {
  std::size_t bytes = 0;                // 0: the other side closed
  std::vector<Descriptor> descriptors;  // that came with the message
  bool truncated = false;               // the message or its descriptors did not fit
};
// One message. Errors: system_error; would_block() tells that nothing is there on a non-blocking socket.
Result<Received> receive(int socket, std::span<std::byte> buffer);
bool would_block(const Error& error);

// One message with at most kMaxDescriptors descriptors; never raises SIGPIPE, never blocks. Errors: engine_gone where
// the other side has closed, else system_error.
constexpr std::size_t kMaxDescriptors = 32;
Result<void> send(int socket, std::span<const std::byte> message, std::span<const int> descriptors = {});

// Makes room for `bytes` of messages that the other side has not read yet, as far as the kernel lets us.
void reserve_send_room(int socket, std::size_t bytes);

// Whether a message, or the end, came within `timeout_ms` (-1: for ever). A signal does not end the wait.
Result<bool> wait_readable(int socket, int timeout_ms);

struct PeerIdentity {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<PeerIdentity> peer_identity(int socket);

// A pair of connected stream sockets, both non-blocking: [0] the ringer's, [1] the sleeper's.
struct WakePair {
  Descriptor ringer;
  Descriptor sleeper;
};
Result<WakePair> make_wake_pair();
// Wakes the sleeper; never blocks. A full socket is a wake-up that is already there.
void send_wake(int ringer);
// Takes the wake-ups that are there; false when the other side has closed.
bool drain_wake(int sleeper);

// An eventfd for the engine's epoll, and its ringing by a client; never blocks.
Result<Descriptor> make_event();
void ring_event(int event);

}  // namespace rde::prim
