// One client of the older socket: what has come from it, what is still to go to it. Bounded both ways: nothing more is
// read while an answer is owed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "compat/frame.h"
#include "session/session_table.h"

namespace rde::compat {

class IpcConnection {
 public:
  IpcConnection(Descriptor socket, const SessionOwner& session_owner, Nanoseconds now)
      : owner(session_owner), active(now), socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  // Takes a bounded piece of what is there; false where the other side is gone. Its end sets `closing`.
  bool receive(Nanoseconds now);
  // Queues a whole frame, and sends as much as the socket takes, in one write. False where the other side is gone.
  bool send(std::vector<std::byte> frame, Nanoseconds now);
  bool send_rest(Nanoseconds now);

  [[nodiscard]] bool owes() const { return sent_ < out_.size(); }
  // What epoll should tell of.
  [[nodiscard]] bool wants_input() const { return !owes() && !busy && !closing && !frames.has_frame(); }
  // A whole frame, or one that is wrong, can be handled now.
  [[nodiscard]] bool has_work() const { return !owes() && !busy && frames.has_frame(); }
  [[nodiscard]] bool is_over() const { return closing && !owes() && !busy && !frames.has_frame(); }
  // Waits for a frame's rest, or for the other side to read.
  [[nodiscard]] bool is_stalled(Nanoseconds now) const;
  [[nodiscard]] bool is_idle() const { return !owes() && !busy && !frames.has_part(); }

  FrameReader frames;
  SessionOwner owner;
  Nanoseconds active;         // when bytes last moved
  Nanoseconds since = 0;      // when the frame that is coming began
  bool busy = false;          // a read for it is under way
  bool closing = false;       // closed once nothing is owed
  std::uint32_t watched = 0;  // epoll's mask

 private:
  Descriptor socket_;
  std::vector<std::byte> out_;
  std::size_t sent_ = 0;
};

}  // namespace rde::compat
