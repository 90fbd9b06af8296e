// The port that engines connect to. UCX's own listener aborts the process on bytes that are not UCX
// (1.13: an assertion), so it never stands on a port that people know: a connector first knocks here, and
// is told on which port UCX listens just now; that port is closed when nobody is expected.
//
//   connector ── UcxKnock ──────────► door        32 bytes, checked; who sends anything else is hung up on
//             ◄────────── UcxAnswer ─            the port of the moment, or why not
//             ── UCX ─────────────────► port      admitted where it comes from the host that knocked
//
// Owner thread only.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/host_port.h"
#include "transport/ucx/ucx_wire.h"

namespace rde {

class UcxDoor {
 public:
  // `on_connection` gets UCX's connection requests; `argument` is handed to it. invalid_address where it
  // cannot be listened on. `worker` outlives the door.
  static Result<std::unique_ptr<UcxDoor>> open(const SocketAddress& where, ucp_worker_h worker,
                                               ucp_listener_conn_callback_t on_connection, void* argument);
  ~UcxDoor();
  UcxDoor(const UcxDoor&) = delete;
  UcxDoor& operator=(const UcxDoor&) = delete;

  [[nodiscard]] const SocketAddress& where() const { return where_; }
  // Readable on news, for an epoll of the caller.
  [[nodiscard]] int event_descriptor() const { return events_.get(); }
  [[nodiscard]] Nanoseconds next_timer() const;

  // Answers knocks; true: something happened.
  bool progress(Nanoseconds now);
  // Whether a UCX connection from this host is expected; each knock admits one.
  bool admit(const SocketAddress& client);
  void reject(ucp_conn_request_h request) { ucp_listener_reject(listener_, request); }

 private:
  struct Visitor {
    Descriptor socket;
    SocketAddress address;
    Nanoseconds until = 0;
    std::size_t taken = 0;
    UcxKnock knock{};
    bool is_expected = false;
    bool is_gone = false;
  };

  UcxDoor(ucp_worker_h worker, ucp_listener_conn_callback_t on_connection, void* argument)
      : worker_(worker), on_connection_(on_connection), argument_(argument) {}
  Result<void> listen(const SocketAddress& where);
  bool accept_visitors(Nanoseconds now);
  bool hear(Visitor& visitor);
  void answer(Visitor& visitor);
  Result<void> open_listener();
  void forget_gone();

  ucp_worker_h worker_;
  ucp_listener_conn_callback_t on_connection_;
  void* argument_;
  Descriptor socket_;
  Descriptor events_;
  SocketAddress where_;
  std::vector<Visitor> visitors_;
  ucp_listener_h listener_ = nullptr;  // while somebody is expected
  std::uint16_t listener_port_ = 0;
};

// True where two addresses name one host, whatever the ports.
bool same_host(const SocketAddress& a, const SocketAddress& b);
std::uint16_t port_of(const SocketAddress& where);
void set_port(SocketAddress& where, std::uint16_t port);

}  // namespace rde
