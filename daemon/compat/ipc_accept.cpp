// Who may use the door, and how many at once.
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "compat/error_names.h"
#include "compat/ipc_door.h"
#include "control/access.h"
#include "prim/socket.h"
#include "shard/shard_options.h"

namespace rde::compat {
namespace {

constexpr unsigned kAcceptsAtOnce = 64;
constexpr Nanoseconds kIdleTime = 60 * kSecond;  // after which a connection may have to make room

}  // namespace

void IpcDoor::accept() {
  for (unsigned i = 0; i < kAcceptsAtOnce; ++i) {
    Descriptor socket = listener_.accept();
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting(errno);
      return;
    }
    admit(std::move(socket));
  }
}

// Without descriptors or memory the listener would stay readable, and this thread busy: close_stalled() tries again.
void IpcDoor::pause_accepting(int error_number) {
  spdlog::warn("cannot accept connections at the IPC socket: {}; raise the limit of open files (LimitNOFILE)",
               std::strerror(error_number));
  is_listening_ = false;
  watch_listener();
}

void IpcDoor::admit(Descriptor socket) {
  const auto who = prim::peer_identity(socket.get());
  if (!who) return;
  bool allowed = false;
  {
    const std::lock_guard lock(mutex_);
    allowed = may_use(config_, *who);
  }
  if (!allowed) {
    return refuse(socket.get(), error_reply(Status::permission_denied,
                                            "uid " + std::to_string(who->uid) + " (gid " + std::to_string(who->gid) +
                                                ") may not use this engine; allow it with --allow-uid or --allow-gid"));
  }
  if (connections_.size() >= config_.ipc_max_connections && !make_room()) {
    return refuse(socket.get(),
                  error_reply(Status::resource_exhausted, std::to_string(connections_.size()) +
                                                              " connections are open; raise --ipc-max-connections"));
  }
  const Nanoseconds now = now_ns();
  const auto number = next_number_++;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = number;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return;
  auto connection =
      std::make_unique<IpcConnection>(std::move(socket), parts_.sessions->add_owner(parts_.slab, who->uid, now), now);
  connection->watched = EPOLLIN;
  connections_.emplace(number, std::move(connection));
  bump(stats_.accepted);
  stats_.connections = connections_.size();
}

void IpcDoor::refuse(int socket, const ErrorReply& why) {
  bump(stats_.refused);
  const auto frame = encode(why);
  (void)::send(socket, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Whoever has been silent for long, and has no session, makes room for one that comes.
bool IpcDoor::make_room() {
  const Nanoseconds now = now_ns();
  const auto is_spare = [&](const IpcConnection& connection) {
    return connection.is_idle() && !parts_.sessions->has_sessions(connection.owner);
  };
  const auto oldest = std::ranges::min_element(connections_, {}, [&](const auto& entry) {
    return is_spare(*entry.second) ? entry.second->active : ~Nanoseconds{0};
  });
  const IpcConnection& connection = *oldest->second;
  if (!is_spare(connection) || now - connection.active < kIdleTime) return false;
  close(oldest->first);
  return true;
}

}  // namespace rde::compat
