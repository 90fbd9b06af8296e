#include "prim/socket.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace rde::prim {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{Status::invalid_request, "socket path '" + path + "' has " + std::to_string(path.size()) +
                                              " bytes; a Unix socket takes 1 to " +
                                              std::to_string(sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

int connect_to(int socket, const sockaddr_un& address) {
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(socket, generic, sizeof address) == 0 ? 0 : errno;
}

}  // namespace

Result<Descriptor> connect_seqpacket(const std::string& path, Nanoseconds timeout) {
  const auto address = address_of(path);
  if (!address) return address.error();
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno);
  // Nothing else bounds a connect to a listener that has stopped accepting.
  const timeval bound{static_cast<time_t>(timeout / kSecond),
                      static_cast<suseconds_t>(timeout % kSecond / kMicrosecond | 1U)};
  if (setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound) != 0) {
    return system_error("SO_SNDTIMEO", errno);
  }
  const int code = connect_to(socket.get(), *address);
  if (code == EAGAIN) {
    return Error{Status::segment_not_ready,
                 "connect to " + path + ": its queue stayed full; is the engine stopped or overloaded?"};
  }
  if (code != 0) {
    return system_error("connect to " + path + " (is the engine running, and may this user open the socket?)", code);
  }
  return socket;
}

Result<bool> is_listening(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return address.error();
  const Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("socket", errno);
  const int code = connect_to(socket.get(), *address);
  // EAGAIN: its queue is full. EPROTOTYPE: it speaks another type of socket.
  if (code == 0 || code == EAGAIN || code == EPROTOTYPE) return true;
  if (code == ECONNREFUSED || code == ENOENT) return false;
  return system_error("connect to " + path, code);
}

Result<Received> receive(int socket, std::span<std::byte> buffer) {
  iovec vector{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    const int code = errno;
    if (code == ECONNRESET) return Received{};  // closed before it read all that we sent
    auto error = system_error("receive", code);
    if (code == EAGAIN) error.status = Status::resource_exhausted;
    return error;
  }
  Received received;
  received.bytes = static_cast<std::size_t>(count);
  received.truncated = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t descriptors = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < descriptors; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      received.descriptors.emplace_back(fd);
    }
  }
  return received;
}

bool would_block(const Error& error) { return error.status == Status::resource_exhausted; }

Result<void> send(int socket, std::span<const std::byte> message, std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) {
    return Error{Status::internal, std::to_string(descriptors.size()) + " descriptors do not fit one message"};
  }
  iovec vector{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxDescriptors)> control{};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t count = 0;
  do {
    count = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(message.size())) return {};
  const int code = errno;
  auto error = system_error("send", code);
  if (code == EPIPE || code == ECONNRESET) error.status = Status::engine_gone;
  return error;
}

void reserve_send_room(int socket, std::size_t bytes) {
  const int size = bytes > (64U << 20) ? 64 << 20 : static_cast<int>(bytes);
  if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size) == 0) return;
  (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

Result<bool> wait_readable(int socket, int timeout_ms) {
  const Nanoseconds start = now_ns();
  for (int left = timeout_ms;;) {
    pollfd entry{socket, POLLIN, 0};
    const int count = poll(&entry, 1, left);
    if (count >= 0) return count > 0;
    if (errno != EINTR) return system_error("poll", errno);
    if (timeout_ms < 0) continue;
    const auto gone = (now_ns() - start) / kMillisecond;
    left = gone >= static_cast<Nanoseconds>(timeout_ms) ? 0 : timeout_ms - static_cast<int>(gone);
  }
}

Result<PeerIdentity> peer_identity(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return system_error("SO_PEERCRED", errno);
  return PeerIdentity{credentials.pid, credentials.uid, credentials.gid};
}

Result<WakePair> make_wake_pair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
    return system_error("socketpair", errno);
  return WakePair{Descriptor(fds[0]), Descriptor(fds[1])};
}

void send_wake(int ringer) {
  const char byte = 1;
  // MSG_DONTWAIT and not O_NONBLOCK: the other side shares the status flags and could clear those.
  (void)!::send(ringer, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool drain_wake(int sleeper) {
  std::array<char, 256> bytes;
  // Bounded: the other side could write as fast as we read.
  for (unsigned turn = 0; turn < 64; ++turn) {
    const ssize_t count = recv(sleeper, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0) return false;
    if (count < static_cast<ssize_t>(bytes.size())) return count > 0 || errno == EAGAIN || errno == EINTR;
  }
  return true;
}

Result<Descriptor> make_event() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return system_error("eventfd", errno);
  return event;
}

void ring_event(int event) {
  const std::uint64_t one = 1;
  (void)!::write(event, &one, sizeof one);
}

}  // namespace rde::prim
