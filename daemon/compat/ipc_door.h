// The socket of the older protocol (MessagePack frames): a door of its own to the same sessions, shards and peers. It
// runs on a thread of its own, never on a polling core; what one client does there holds up no other.
//
//   auto door = IpcDoor::open(config, {.sessions = sessions, .slab = slab, .epoch = epoch, .device = "mlx5_0"});
//   if (!door) return door.error();
//   (*door)->stop();
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "attach/listener.h"
#include "compat/ipc_connection.h"
#include "compat/messages.h"
#include "compat/object_reader.h"
#include "config/config.h"
#include "session/session_table.h"

namespace rde::compat {

struct IpcDoorParts {
  std::shared_ptr<SessionTable> sessions;
  unsigned slab = 0;        // of the sessions opened here; nobody else's
  std::uint64_t epoch = 0;  // of the engine
  std::string device;
};

// Written by the door's thread, read by that of the metrics.
struct IpcStats {
  std::atomic<std::uint64_t> connections{0};  // gauge
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> refused{0};  // connections
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> failures{0};  // answered with an error
};

class IpcDoor {
 public:
  // Listens at config.ipc_socket, and serves from now on. Errors name the path and why it cannot be used.
  static Result<std::unique_ptr<IpcDoor>> open(const Config& config, IpcDoorParts parts);
  ~IpcDoor();
  IpcDoor(const IpcDoor&) = delete;
  IpcDoor& operator=(const IpcDoor&) = delete;

  // Closes every connection, and ends the sessions opened here. Before the engine's shards end.
  void stop();
  // The lists of users, from a configuration that was read again. Any thread.
  void reload(const Config& config);
  [[nodiscard]] const IpcStats& stats() const { return stats_; }

 private:
  using Connections = std::unordered_map<std::uint64_t, std::unique_ptr<IpcConnection>>;

  IpcDoor(const Config& config, IpcDoorParts parts, AttachListener listener, Descriptor event, Descriptor epoll);

  // The loop (ipc_door.cpp).
  void run();
  [[nodiscard]] int patience() const;
  void wait(int milliseconds);
  void on_ready(std::uint64_t key, std::uint32_t events);
  void accept();
  void admit(Descriptor socket);
  void pause_accepting(int error_number);
  void watch_listener();
  void refuse(int socket, const ErrorReply& why);
  bool make_room();
  void watch(std::uint64_t number, IpcConnection& connection);
  void watch_reader();
  void serve(std::uint64_t number);
  void close(std::uint64_t number);
  void close_stalled();
  void end_sessions();
  // Requests (ipc_requests.cpp). What they answer goes out at once; no answer yet: a read was begun.
  std::optional<Reply> handle(std::uint64_t number, const Request& request);
  std::optional<Reply> start_read(std::uint64_t number, const StartRead& message);
  [[nodiscard]] Reply finish_read(const SessionTable::Opened& opened, const SessionOwner& owner,
                                  const ReadAnswer& answer);
  [[nodiscard]] Reply complete_read(const SessionOwner& owner, const CompleteRead& message);
  [[nodiscard]] Reply capabilities() const;
  void answer(std::uint64_t number, const Reply& reply);

  mutable std::mutex mutex_;  // of config_'s lists
  Config config_;
  IpcDoorParts parts_;
  AttachListener listener_;
  Descriptor event_;  // rung by stop()
  Descriptor epoll_;
  ObjectReader reader_;
  int reader_socket_ = -1;  // watched
  Connections connections_;
  std::vector<std::uint64_t> backlog_;  // with requests that came, and wait for their turn
  std::vector<SessionOwner> leaving_;   // whose sessions are being ended
  std::uint64_t next_number_ = 16;      // below: the door's own descriptors
  Nanoseconds swept_ = 0;
  bool is_listening_ = true;
  std::atomic<bool> stopping_{false};
  IpcStats stats_;
  std::thread thread_;
};

}  // namespace rde::compat
