// One connection of a UcxTransport: an endpoint, its landings, and how it ends. Owner thread only.
//
//   connecting (knock, then UCX) ── hello ──► up ── close, bye, failure or timeout ──► ending ──► closing ──► gone
//
// ending: bye is sent and the peer's is awaited until a deadline. closing: the endpoint is closed by
// force, exactly once and never inside a callback, and every started transfer is waited for.
#pragma once

#include <ucp/api/ucp.h>

#include <deque>
#include <optional>
#include <vector>

#include "transport/transport.h"
#include "transport/ucx/ucx_knock.h"
#include "transport/ucx/ucx_wire.h"

namespace rde {

class UcxTransport;
class UcxLink;

struct UcxLanding {
  enum class State : std::uint8_t { free, posted, receiving, ended };
  UcxLink* link = nullptr;
  std::uint64_t id = 0;
  std::uint64_t serial = 0;
  std::byte* destination = nullptr;
  ucp_mem_h memory = nullptr;
  std::uint32_t length = 0;
  std::uint32_t slot = 0;
  State state = State::free;
  std::uint32_t header_length = 0;
  std::array<std::byte, Link::kMaxHeader> header{};
};

// Something on its way out; lives until UCX says that it is done with it.
struct UcxSend {
  UcxSend* next = nullptr;
  UcxLink* link = nullptr;
  void* context = nullptr;
  bool is_delivery = false;
  union {
    UcxHello hello;
    UcxMessageHead message_head;
    UcxDeliverHead deliver_head;
  };
  std::array<std::byte, Link::kMaxMessage> message;

  UcxSend() : deliver_head{} {}
};

class UcxLink final : public Link {
 public:
  UcxLink(UcxTransport& transport, const SocketAddress& remote) : transport_(transport), remote_(remote) {}
  UcxLink(const UcxLink&) = delete;
  UcxLink& operator=(const UcxLink&) = delete;

  Status send(std::span<const std::byte> message) override;
  Result<LandingKey> post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) override;
  bool withdraw_landing(std::uint64_t id) override;
  Status deliver(std::uint64_t id, const LandingKey& key, std::span<const std::byte> header,
                 std::span<const std::byte> payload, Memory& memory, void* context) override;
  void close(const Error& why) override { end(why, true); }
  [[nodiscard]] const SocketAddress& remote() const override { return remote_; }

 private:
  friend class UcxTransport;
  enum class State : std::uint8_t { connecting, up, ending, closing, gone };

  // Called by UCX, through the transport.
  void take_hello(std::span<const std::byte> header);
  void take_message(std::span<const std::byte> header, std::span<const std::byte> message);
  ucs_status_t take_delivery(std::span<const std::byte> header, void* data, std::size_t length, bool rendezvous);
  UcxLanding* wanted_landing(std::span<const std::byte> header, std::size_t length);
  static void on_received(void* request, ucs_status_t code, std::size_t length, void* user_data);
  static void on_sent(void* request, ucs_status_t code, void* user_data);

  // Called by the transport's progress().
  void step_knock();
  Result<void> open_endpoint(ucp_ep_params_t& params);
  void say_hello();
  void dispatch_landed(UcxLanding& landing, std::uint32_t bytes, Status status);
  void end(const Error& why, bool is_ours);
  void advance(Nanoseconds now);
  void close_by_force();

  Status start_send(UcxSend& op, unsigned id, std::size_t header_length, std::span<const std::byte> bytes,
                    unsigned flags, ucp_mem_h memory);
  void sent(UcxSend& op, ucs_status_t code);
  void free_landing(UcxLanding& landing);
  [[nodiscard]] bool is_settled() const { return state_ == State::up; }
  [[nodiscard]] bool has_work() const { return sends_ != 0 || receiving_ != 0; }

  UcxTransport& transport_;
  SocketAddress remote_;
  LinkObserver* observer_ = nullptr;  // of an accepted link: from its hello on
  LinkAcceptor* acceptor_ = nullptr;  // of an accepted link
  State state_ = State::connecting;
  Error why_;
  Nanoseconds deadline_ = 0;             // of connecting or ending
  std::optional<UcxKnocking> knocking_;  // of a connector, until the link is up
  ucp_ep_h endpoint_ = nullptr;          // null while it knocks
  void* close_request_ = nullptr;
  bool failed_ = false;  // the endpoint is dead
  bool hello_taken_ = false;
  bool bye_taken_ = false;
  bool we_ended_ = false;
  std::uint32_t next_sequence_ = 0;
  std::uint32_t expected_sequence_ = 0;
  std::uint32_t sends_ = 0;     // UCX has them
  std::uint32_t messages_ = 0;  // of those, messages
  std::uint32_t receiving_ = 0;
  std::uint32_t events_ = 0;  // queued, naming this link
  std::uint64_t next_serial_ = 1;
  std::deque<UcxLanding> landings_;  // never moves: UCX and events point into it
  std::vector<std::uint32_t> free_landings_;
};

}  // namespace rde
