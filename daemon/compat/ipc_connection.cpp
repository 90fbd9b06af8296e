#include "compat/ipc_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace rde::compat {
namespace {

constexpr std::size_t kPiece = 16'384;             // read at once, so that others have their turn
constexpr Nanoseconds kFrameTime = 10 * kSecond;   // from a frame's first byte to its last
constexpr Nanoseconds kUnreadTime = 10 * kSecond;  // an answer that the other side does not read

bool is_passing(int code) { return code == EAGAIN || code == EINTR; }

}  // namespace

bool IpcConnection::receive(Nanoseconds now) {
  std::array<std::byte, kPiece> piece;
  const ssize_t count = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count < 0) return is_passing(errno);
  if (count == 0) {
    closing = true;
    return true;
  }
  active = now;
  if (!frames.has_part()) since = now;
  frames.add(std::span(piece).first(static_cast<std::size_t>(count)));
  return true;
}

bool IpcConnection::send(std::vector<std::byte> frame, Nanoseconds now) {
  out_ = std::move(frame);
  sent_ = 0;
  return send_rest(now);
}

bool IpcConnection::send_rest(Nanoseconds now) {
  while (owes()) {
    const ssize_t count = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return is_passing(errno);
    sent_ += static_cast<std::size_t>(count);
    active = now;
  }
  since = now;
  return true;
}

bool IpcConnection::is_stalled(Nanoseconds now) const {
  if (owes()) return now - active > kUnreadTime;
  return !busy && frames.has_part() && !frames.has_frame() && now - since > kFrameTime;
}

}  // namespace rde::compat
