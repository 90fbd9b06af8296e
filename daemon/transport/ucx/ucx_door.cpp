#include "transport/ucx/ucx_door.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/ucx/ucx_context.h"

namespace rde {
namespace {

constexpr std::size_t kMaxVisitors = 256;       // more are hung up on
constexpr Nanoseconds kPatience = 5 * kSecond;  // from a visitor's arrival to its UCX connection
constexpr int kBacklog = 128;

Error socket_error(const SocketAddress& where) {
  auto error = system_error("listen " + where.text(), errno);
  error.status = Status::invalid_address;
  return error;
}

}  // namespace

bool same_host(const SocketAddress& a, const SocketAddress& b) {
  if (a.storage.ss_family != b.storage.ss_family) return false;
  if (a.storage.ss_family == AF_INET6) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a.storage).sin6_addr,
                       &reinterpret_cast<const sockaddr_in6&>(b.storage).sin6_addr, sizeof(in6_addr)) == 0;
  }
  return reinterpret_cast<const sockaddr_in&>(a.storage).sin_addr.s_addr ==
         reinterpret_cast<const sockaddr_in&>(b.storage).sin_addr.s_addr;
}

std::uint16_t port_of(const SocketAddress& where) {
  return ntohs(where.storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(where.storage).sin6_port
                                                   : reinterpret_cast<const sockaddr_in&>(where.storage).sin_port);
}

void set_port(SocketAddress& where, std::uint16_t port) {
  if (where.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(where.storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(where.storage).sin_port = htons(port);
  }
}

Result<std::unique_ptr<UcxDoor>> UcxDoor::open(const SocketAddress& where, ucp_worker_h worker,
                                               ucp_listener_conn_callback_t on_connection, void* argument) {
  std::unique_ptr<UcxDoor> door(new UcxDoor(worker, on_connection, argument));
  if (auto listening = door->listen(where); !listening) return listening.error();
  return door;
}

Result<void> UcxDoor::listen(const SocketAddress& where) {
  socket_ = Descriptor(::socket(where.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // An engine that starts again takes its port back at once.
  const int yes = 1;
  where_.length = sizeof(where_.storage);
  if (!socket_ || ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0 ||
      ::listen(socket_.get(), kBacklog) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&where_.storage), &where_.length) != 0) {
    return socket_error(where);
  }
  events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (!events_ || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket_.get(), &event) != 0) {
    return system_error("epoll of the listening socket", errno);
  }
  return {};
}

UcxDoor::~UcxDoor() {
  if (listener_ != nullptr) ucp_listener_destroy(listener_);
}

bool UcxDoor::accept_visitors(Nanoseconds now) {
  bool any = false;
  for (;;) {
    SocketAddress address;
    address.length = sizeof(address.storage);
    Descriptor socket(::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length,
                                SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return any;
    any = true;
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (visitors_.size() >= kMaxVisitors || ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) {
      continue;
    }
    visitors_.push_back({.socket = std::move(socket), .address = address, .until = now + kPatience});
  }
}

// True: something came.
bool UcxDoor::hear(Visitor& visitor) {
  auto* into = reinterpret_cast<std::byte*>(&visitor.knock);
  // One byte more than a knock has is already too much.
  std::array<std::byte, sizeof(UcxKnock) + 1> heard;
  const std::size_t room = (visitor.is_expected ? 0 : sizeof(UcxKnock) - visitor.taken) + 1;
  const ssize_t count = ::recv(visitor.socket.get(), heard.data(), room, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  const bool fits = count > 0 && static_cast<std::size_t>(count) < room;
  if (!fits) {
    visitor.is_gone = true;
    return true;
  }
  std::memcpy(into + visitor.taken, heard.data(), static_cast<std::size_t>(count));
  visitor.taken += static_cast<std::size_t>(count);
  if (visitor.taken >= sizeof(visitor.knock.magic) && visitor.knock.magic != kUcxKnockMagic) visitor.is_gone = true;
  if (!visitor.is_gone && visitor.taken == sizeof(UcxKnock)) answer(visitor);
  return true;
}

void UcxDoor::answer(Visitor& visitor) {
  UcxAnswer answer{.magic = kUcxKnockMagic, .version = kUcxWireVersion, .port = 0, .status = 0, .ucx_version = {}};
  put_ucx_version(answer.ucx_version);
  if (visitor.knock.version != kUcxWireVersion) {
    answer.status = static_cast<std::uint16_t>(Status::peer_version);
  } else if (auto opened = open_listener(); !opened) {
    answer.status = static_cast<std::uint16_t>(opened.error().status);
  } else {
    answer.port = listener_port_;
    visitor.is_expected = true;
  }
  // A fresh socket takes 32 bytes at once.
  const ssize_t sent = ::send(visitor.socket.get(), &answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent != static_cast<ssize_t>(sizeof(answer)) || !visitor.is_expected) visitor.is_gone = true;
}

Result<void> UcxDoor::open_listener() {
  if (listener_ != nullptr) return {};
  SocketAddress any_port = where_;
  set_port(any_port, 0);
  ucp_listener_params_t params{};
  params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&any_port.storage), any_port.length};
  params.conn_handler = {on_connection_, argument_};
  if (const auto code = ucp_listener_create(worker_, &params, &listener_); code != UCS_OK) {
    listener_ = nullptr;
    return ucx_error(Status::resource_exhausted, "listener", code);
  }
  mark_descriptors_close_on_exec();
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  ucp_listener_query(listener_, &attributes);
  SocketAddress bound;
  bound.storage = attributes.sockaddr;
  listener_port_ = port_of(bound);
  return {};
}

bool UcxDoor::progress(Nanoseconds now) {
  epoll_event event;
  const bool is_late = next_timer() <= now;
  if (::epoll_wait(events_.get(), &event, 1, 0) <= 0 && !is_late) return false;
  bool any = accept_visitors(now);
  for (Visitor& visitor : visitors_) {
    any |= hear(visitor);
    if (now >= visitor.until) visitor.is_gone = true;
  }
  forget_gone();
  return any || is_late;
}

void UcxDoor::forget_gone() {
  std::erase_if(visitors_, [](const Visitor& visitor) { return visitor.is_gone; });
  const bool expects = std::ranges::any_of(visitors_, [](const Visitor& visitor) { return visitor.is_expected; });
  if (expects || listener_ == nullptr) return;
  ucp_listener_destroy(listener_);
  listener_ = nullptr;
}

bool UcxDoor::admit(const SocketAddress& client) {
  const auto it = std::ranges::find_if(visitors_, [&](const Visitor& visitor) {
    return visitor.is_expected && !visitor.is_gone && same_host(visitor.address, client);
  });
  if (it == visitors_.end()) return false;
  // The listener is closed in progress(): a request of it is in our caller's hands.
  it->is_gone = true;
  it->until = 0;
  return true;
}

Nanoseconds UcxDoor::next_timer() const {
  Nanoseconds next = ~Nanoseconds{0};
  for (const Visitor& visitor : visitors_) next = std::min(next, visitor.until);
  return next;
}

}  // namespace rde
