// The door's loop: connections come, are served in turn, and go.
#include "compat/ipc_door.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>

#include "compat/error_names.h"
#include "prim/socket.h"
#include "shard/shard_options.h"

namespace rde::compat {
namespace {

constexpr std::uint64_t kListener = 1;
constexpr std::uint64_t kEvent = 2;
constexpr std::uint64_t kReader = 3;
constexpr unsigned kRequestsAtOnce = 32;   // of one connection, before the others have their turn
constexpr unsigned kSessionsAtOnce = 256;  // ended, of connections that have gone
constexpr int kTickMilliseconds = 50;

bool watch_descriptor(int epoll, int operation, int descriptor, std::uint64_t key, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = key;
  return epoll_ctl(epoll, operation, descriptor, &event) == 0;
}

}  // namespace

Result<std::unique_ptr<IpcDoor>> IpcDoor::open(const Config& config, IpcDoorParts parts) {
  auto listener =
      AttachListener::open({config.ipc_socket, config.socket_mode, config.socket_group, "--ipc-socket", true});
  if (!listener) return listener.error().in("--ipc-socket");
  auto event = prim::make_event();
  if (!event) return event.error();
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return system_error("epoll_create1", errno);
  if (!watch_descriptor(epoll.get(), EPOLL_CTL_ADD, listener->descriptor(), kListener, EPOLLIN) ||
      !watch_descriptor(epoll.get(), EPOLL_CTL_ADD, event->get(), kEvent, EPOLLIN)) {
    return system_error("epoll_ctl", errno);
  }
  std::unique_ptr<IpcDoor> door(
      new IpcDoor(config, std::move(parts), std::move(*listener), std::move(*event), std::move(epoll)));
  door->thread_ = std::thread([door = door.get()] { door->run(); });
  return door;
}

IpcDoor::IpcDoor(const Config& config, IpcDoorParts parts, AttachListener listener, Descriptor event, Descriptor epoll)
    : config_(config),
      parts_(std::move(parts)),
      listener_(std::move(listener)),
      event_(std::move(event)),
      epoll_(std::move(epoll)),
      reader_(config.socket) {}

IpcDoor::~IpcDoor() { stop(); }

void IpcDoor::stop() {
  stopping_ = true;
  prim::ring_event(event_.get());
  if (thread_.joinable()) thread_.join();
}

void IpcDoor::reload(const Config& config) {
  const std::lock_guard lock(mutex_);
  config_.allow_uid = config.allow_uid;
  config_.allow_gid = config.allow_gid;
}

void IpcDoor::run() {
  pthread_setname_np(pthread_self(), "ipc-socket");
  while (!stopping_) {
    const bool quiet = reader_.prepare_sleep();
    wait(quiet ? patience() : 0);
    reader_.end_sleep();
    std::vector<std::uint64_t> backlog;
    backlog.swap(backlog_);
    for (const auto number : backlog) serve(number);
    reader_.progress();
    watch_reader();
    close_stalled();
    end_sessions();
    while (parts_.sessions->expire(parts_.slab, now_ns())) {
    }
  }
  while (!connections_.empty()) close(connections_.begin()->first);
  while (!leaving_.empty()) end_sessions();
}

int IpcDoor::patience() const {
  if (!backlog_.empty() || !leaving_.empty()) return 0;
  return connections_.empty() && is_listening_ ? -1 : kTickMilliseconds;
}

void IpcDoor::wait(int milliseconds) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    on_ready(event.data.u64, event.events);
  }
}

void IpcDoor::on_ready(std::uint64_t key, std::uint32_t events) {
  if (key == kListener) return accept();
  if (key == kEvent || key == kReader) return;  // run() looks at both
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  IpcConnection& connection = *found->second;
  const Nanoseconds now = now_ns();
  // Both directions are shut: nobody would read an answer. What has come before may still be read.
  if ((events & EPOLLERR) != 0 || ((events & EPOLLHUP) != 0 && !connection.wants_input())) return close(key);
  if (connection.owes() && !connection.send_rest(now)) return close(key);
  if (connection.wants_input() && (events & (EPOLLIN | EPOLLHUP)) != 0 && !connection.receive(now)) return close(key);
  serve(key);
}

void IpcDoor::watch_listener() {
  (void)watch_descriptor(epoll_.get(), EPOLL_CTL_MOD, listener_.descriptor(), kListener,
                         is_listening_ ? std::uint32_t{EPOLLIN} : 0);
}

void IpcDoor::watch(std::uint64_t number, IpcConnection& connection) {
  const std::uint32_t events =
      (connection.wants_input() ? std::uint32_t{EPOLLIN} : 0) | (connection.owes() ? std::uint32_t{EPOLLOUT} : 0);
  if (events == connection.watched) return;
  connection.watched = events;
  (void)watch_descriptor(epoll_.get(), EPOLL_CTL_MOD, connection.descriptor(), number, events);
}

// The reader attaches when it has something to read, and may lose its attachment.
void IpcDoor::watch_reader() {
  const auto [news, engine] = reader_.descriptors();
  if (news == reader_socket_) return;
  reader_socket_ = news;  // a descriptor that was closed has left the epoll set
  if (news < 0) return;
  (void)watch_descriptor(epoll_.get(), EPOLL_CTL_ADD, news, kReader, EPOLLIN);
  (void)watch_descriptor(epoll_.get(), EPOLL_CTL_ADD, engine, kReader, EPOLLIN | EPOLLRDHUP);
}

// Handles what has come whole, up to a bound; the rest waits in the backlog.
void IpcDoor::serve(std::uint64_t number) {
  for (unsigned i = 0; i < kRequestsAtOnce; ++i) {
    const auto found = connections_.find(number);
    if (found == connections_.end()) return;
    IpcConnection& connection = *found->second;
    if (connection.is_over()) return close(number);
    if (!connection.has_work()) return watch(number, connection);
    std::span<const std::byte> payload;
    bump(stats_.requests);
    if (connection.frames.next(payload) == FrameReader::Next::bad) {
      const auto length = connection.frames.length();
      connection.closing = true;
      answer(number, ErrorReply{"IpcError",
                                "frame length = " + std::to_string(length) + ": want 1 to " +
                                    std::to_string(kLargestFrame) + " bytes",
                                "ipc"});
      return close(number);  // what follows cannot be told apart any more
    }
    const auto reply = handle(number, decode(payload));
    if (reply) answer(number, *reply);
  }
  backlog_.push_back(number);
}

void IpcDoor::answer(std::uint64_t number, const Reply& reply) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  if (std::holds_alternative<ErrorReply>(reply)) bump(stats_.failures);
  if (!found->second->send(encode(reply), now_ns())) close(number);
}

void IpcDoor::close(std::uint64_t number) {
  const auto found = connections_.find(number);
  if (found == connections_.end()) return;
  reader_.forget(number);
  leaving_.push_back(found->second->owner);
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->descriptor(), nullptr);
  connections_.erase(found);
  stats_.connections = connections_.size();
}

void IpcDoor::close_stalled() {
  const Nanoseconds now = now_ns();
  if (now - swept_ < kSecond) return;
  swept_ = now;
  if (!is_listening_) {
    is_listening_ = true;
    watch_listener();
  }
  std::vector<std::uint64_t> stalled;
  for (const auto& [number, connection] : connections_) {
    if (connection->is_stalled(now)) stalled.push_back(number);
  }
  for (const auto number : stalled) {
    spdlog::debug("IPC connection closed connection={} reason=\"stalled in the middle of a frame\"", number);
    close(number);
  }
}

void IpcDoor::end_sessions() {
  std::erase_if(leaving_, [&](SessionOwner& owner) { return !parts_.sessions->end_some(owner, kSessionsAtOnce); });
}

}  // namespace rde::compat
