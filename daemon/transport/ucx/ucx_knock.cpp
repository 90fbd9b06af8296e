#include "transport/ucx/ucx_knock.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/ucx/ucx_door.h"
#include "transport/ucx/ucx_runtime.h"

namespace rde {
namespace {

Error unreachable(const SocketAddress& where, int error_number) {
  auto error = system_error("connect " + where.text(), error_number);
  error.status = Status::peer_unreachable;
  return error;
}

bool is_for_later(int error_number) {
  return error_number == EAGAIN || error_number == EINTR || error_number == EINPROGRESS || error_number == ENOTCONN;
}

}  // namespace

void put_ucx_version(std::array<char, 16>& to) {
  const std::string version = ucx_runtime_version();
  to = {};
  std::memcpy(to.data(), version.data(), std::min(version.size(), to.size() - 1));
}

std::string ucx_version_of(const std::array<char, 16>& from) {
  std::string version(from.data(), strnlen(from.data(), from.size()));
  std::ranges::replace_if(
      version, [](char c) { return c < ' ' || c > '~'; }, '?');
  return version;
}

Result<UcxKnocking> UcxKnocking::begin(const SocketAddress& where) {
  UcxKnocking knocking(where);
  knocking.socket_ = Descriptor(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!knocking.socket_) return unreachable(where, errno);
  if (::connect(knocking.socket_.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0 &&
      !is_for_later(errno)) {
    return unreachable(where, errno);
  }
  return knocking;
}

Result<std::optional<SocketAddress>> UcxKnocking::step() {
  if (is_sent_) return read_answer();
  UcxKnock knock{.magic = kUcxKnockMagic, .version = kUcxWireVersion, .reserved = 0, .ucx_version = {}};
  put_ucx_version(knock.ucx_version);
  const ssize_t sent = ::send(socket_.get(), &knock, sizeof(knock), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && is_for_later(errno)) return std::optional<SocketAddress>{};
  if (sent < 0) return unreachable(where_, errno);
  is_sent_ = true;  // a fresh socket takes 32 bytes at once; the other side hangs up on less
  return std::optional<SocketAddress>{};
}

Result<std::optional<SocketAddress>> UcxKnocking::read_answer() {
  auto* into = reinterpret_cast<std::byte*>(&answer_);
  const ssize_t count = ::recv(socket_.get(), into + taken_, sizeof(answer_) - taken_, MSG_DONTWAIT);
  if (count < 0 && is_for_later(errno)) return std::optional<SocketAddress>{};
  if (count <= 0) {
    return Error{Status::peer_unreachable,
                 where_.text() + " hung up: no rdma-engine, or one that has too many visitors"};
  }
  taken_ += static_cast<std::size_t>(count);
  if (taken_ >= sizeof(answer_.magic) && answer_.magic != kUcxKnockMagic) {
    return Error{Status::protocol_error, where_.text() + " is not the --listen port of an rdma-engine"};
  }
  if (taken_ < sizeof(answer_)) return std::optional<SocketAddress>{};
  their_ucx_ = ucx_version_of(answer_.ucx_version);
  if (answer_.version != kUcxWireVersion) {
    return Error{Status::peer_version, where_.text() + " speaks link version " + std::to_string(answer_.version) +
                                           ", this engine " + std::to_string(kUcxWireVersion)};
  }
  if (answer_.status != 0 || answer_.port == 0) {
    const bool is_status = is_known(answer_.status) && answer_.status != 0;
    return Error{
        is_status ? static_cast<Status>(answer_.status) : Status::protocol_error,
        where_.text() + " has no port for this engine: " + std::string(name_of(static_cast<Status>(answer_.status)))};
  }
  SocketAddress ucx = where_;
  set_port(ucx, answer_.port);
  return std::optional(ucx);
}

}  // namespace rde
