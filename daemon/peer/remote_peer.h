// An engine that this one reads from: the connection, kept up by reconnecting, and the requests on it.
// Owner thread only; the hub deletes it when it is closed.
//
//   waiting ──► connecting ──► greeting ──► ready ──► leaving (it said good-bye)
//      ▲             │             │          │          │
//      └─────────────┴─── lost ────┴──────────┴──────────┘        close(): closing ──► closed
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/handle.h"
#include "base/host_port.h"
#include "peer/fair_queue.h"
#include "peer/handshake.h"
#include "peer/heartbeat.h"
#include "peer/peer_host.h"
#include "peer/peer_task.h"
#include "peer/volumes.h"
#include "transport/transport.h"

namespace rde {

class RemotePeer final : public LinkObserver {
 public:
  enum class State : std::uint8_t { waiting, connecting, greeting, ready, leaving, closing, closed };

  RemotePeer(PeerHost& host, Handle handle, const SocketAddress& address);
  virtual ~RemotePeer() = default;
  RemotePeer(const RemotePeer&) = delete;
  RemotePeer& operator=(const RemotePeer&) = delete;

  // Connects now; where it waits for its turn, as soon as the least pause between attempts allows.
  void hurry();
  void tick(Nanoseconds now);
  // Says good-bye and ends; jobs under way end with peer_down.
  void close();

  // The peer must be ready. The task ends through the host.
  void submit(PeerTask& task);
  // Ends a task early with `status`, as soon as its memory is safe.
  void abandon(PeerTask& task, Status status);

  [[nodiscard]] Handle handle() const { return handle_; }
  [[nodiscard]] const SocketAddress& address() const { return address_; }
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool is_ready() const { return state_ == State::ready; }
  // Its engine takes uses of regions.
  [[nodiscard]] bool serves_regions() const;
  [[nodiscard]] bool is_quiet(Nanoseconds now) const { return heartbeat_.is_quiet(now); }
  [[nodiscard]] const VolumeCatalog& catalog() const { return catalog_; }
  // Longest READ that the peer takes, in bytes.
  [[nodiscard]] std::uint32_t max_length() const { return ready_ ? ready_->max_length : UINT32_MAX; }
  [[nodiscard]] std::size_t queued() const { return queue_.size(); }
  [[nodiscard]] std::uint32_t in_flight() const { return used_; }
  [[nodiscard]] Nanoseconds round_trip() const { return round_trip_; }
  [[nodiscard]] const Error& last_error() const { return last_error_; }
  [[nodiscard]] std::string_view engine_version() const;
  [[nodiscard]] std::string_view transport_version() const;

 private:
  struct Request {
    enum class State : std::uint8_t { free, flying, withdrawn };
    State state = State::free;
    bool is_large = false;
    bool is_cancelled = false;  // CANCEL is sent; the slot is free once its CREDIT is back and its landing has ended
    bool is_credited = false;
    bool awaits_message = false;  // its slice has no landing: REGION_DONE ends it, also where nobody waits any more
    std::uint32_t generation = 0;
    PeerTask* task = nullptr;
    PeerTask::Slice slice;
  };

  // remote_peer_link.cpp: the connection
  void connect();
  void wait();
  void on_up(Link& link) override;
  void on_message(Link& link, std::span<const std::byte> message) override;
  void on_down(Link& link, const Error& why) override;
  void on_delivered(Link& /*link*/, void* /*context*/, Status /*status*/) override {}
  void greet(std::span<const std::byte> message);
  Result<void> take(wire::Type type, std::span<const std::byte> message);
  Result<void> take_ready(std::span<const std::byte> message);
  void become_ready_once_known();
  void fail_link(const Error& error);
  void send(std::span<const std::byte> message);
  template <class M>
  void send(const M& message);

  // remote_peer.cpp: the requests
  void on_landed(Link& link, std::uint64_t id, std::span<const std::byte> header, std::uint32_t bytes,
                 Status status) override;
  void pump();
  void issue(PeerTask& task, const PeerTask::Slice& slice);
  void settle(PeerTask& task);
  void withdraw_requests(PeerTask& task);
  void lose_request(Request& request);
  void fail_queued(Status status);
  Result<void> take_credit(std::span<const std::byte> message);
  Result<void> take_region_done(std::span<const std::byte> message);
  std::optional<std::uint32_t> slot_of(std::uint64_t id, Request::State state) const;
  void end_flight(std::uint32_t slot);
  void free_slot(std::uint32_t slot);
  void make_room(std::uint32_t credits);
  [[nodiscard]] bool has_small_room() const;
  [[nodiscard]] bool has_large_room() const;

  PeerHost& host_;
  Handle handle_;
  SocketAddress address_;
  State state_ = State::waiting;
  Link* link_ = nullptr;
  std::optional<Handshake> handshake_;
  std::optional<wire::ReadyMessage> ready_;
  Heartbeat heartbeat_;
  Nanoseconds due_ = 0;  // of the state: next attempt, or end of greeting
  Nanoseconds last_attempt_ = 0;
  Nanoseconds ready_since_ = 0;
  unsigned failures_ = 0;  // in a row
  Nanoseconds round_trip_ = 0;
  Error last_error_;
  VolumeCatalog catalog_;

  FairQueue queue_;
  std::vector<Request> requests_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t used_ = 0;
  std::uint32_t used_large_ = 0;
  std::uint32_t large_cost_ = 0;  // of those, in messages
  bool is_pumping_ = false;
};

}  // namespace rde
