// A Unix socket's file, that of the attach socket above all: made with care, never at the cost of another process.
//
//   auto listener = AttachListener::open({.path = "/run/rdma-engine/attach.sock"});
//   if (!listener) return listener.error();
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/status.h"

namespace rde {

struct ListenerOptions {
  std::string path;
  mode_t mode = 0660;
  std::optional<gid_t> group = std::nullopt;
  std::string option = "--socket";  // that names the path, for errors
  bool stream = false;              // SOCK_STREAM; else SOCK_SEQPACKET
};

// Owner of the socket file; removes it when it goes, if it is still the one that it made.
class AttachListener {
 public:
  // Errors name the path and the reason: too long, not a socket, a live engine's, in a directory where others could
  // replace it.
  static Result<AttachListener> open(const ListenerOptions& options);
  AttachListener(AttachListener&&) noexcept = default;
  AttachListener& operator=(AttachListener&&) = delete;
  ~AttachListener();

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // The next connection, non-blocking; an empty descriptor when there is none. Where the process has no descriptor left
  // the connection is closed: left in the queue, it would keep the socket readable for ever.
  [[nodiscard]] Descriptor accept();

 private:
  AttachListener(std::string path, Descriptor socket, Descriptor lock, Descriptor spare, dev_t device, ino_t inode);

  std::string path_;
  Descriptor socket_;
  Descriptor lock_;
  Descriptor spare_;  // given up for a moment to close a connection that no descriptor is left for
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace rde
