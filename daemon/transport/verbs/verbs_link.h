// One connection of a VerbsTransport: a queue pair, its landings, and how it ends. Owner thread only.
//
//   connecting ──► up ── close, bye, error completion or disconnect ──► ending ──► closing ──► gone
//
// ending: bye is sent and the peer's is awaited until a deadline. closing: disconnected, the queue pair is in error,
// and its completions are awaited. gone: the queue pair is destroyed, and with it the last chance of a write; only
// then landings end. A link is never repaired: the next connection has a queue pair of its own.
//
// Nothing is posted before flush(), which the transport calls once a progress(): work requests go out in batches.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "transport/transport.h"
#include "transport/verbs/frame_memory.h"
#include "transport/verbs/send_ledger.h"
#include "transport/verbs/verbs_credits.h"
#include "transport/verbs/verbs_domain.h"
#include "transport/verbs/verbs_queues.h"
#include "transport/verbs/verbs_wire.h"

namespace rde {

class VerbsTransport;

struct VerbsLanding {
  // named: the grant is not sent yet. revoking: its owner was asked to let go of it.
  enum class State : std::uint8_t { free, named, granted, revoking, receiving };
  std::uint64_t id = 0;
  std::uint64_t serial = 0;
  std::span<std::byte> destination;
  State state = State::free;
  std::uint32_t bytes = 0;
  std::uint32_t header_length = 0;
  std::array<std::byte, Link::kMaxHeader> header{};
};

// A payload on its way out.
struct VerbsDelivery {
  VerbsDelivery* next = nullptr;
  bool is_free = true;
  bool has_begun = false;
  void* context = nullptr;
  VerbsGrant grant{};
  DeliveryHead head{};
  std::span<const std::byte> payload;
  std::size_t written = 0;  // posted so far
  std::uint32_t key = 0;
};

class VerbsLink final : public Link {
 public:
  VerbsLink(VerbsTransport& transport, std::uint32_t serial, const SocketAddress& remote)
      : transport_(transport), serial_(serial), remote_(remote) {}
  VerbsLink(const VerbsLink&) = delete;
  VerbsLink& operator=(const VerbsLink&) = delete;

  Status send(std::span<const std::byte> message) override;
  Result<LandingKey> post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) override;
  bool withdraw_landing(std::uint64_t id) override;
  Status deliver(std::uint64_t id, const LandingKey& key, std::span<const std::byte> header,
                 std::span<const std::byte> payload, Memory& memory, void* context) override;
  void close(const Error& why) override { end(why, true); }
  [[nodiscard]] const SocketAddress& remote() const override { return remote_; }

 private:
  friend class VerbsTransport;
  enum class State : std::uint8_t { connecting, up, ending, closing, gone };

  // Waits for credits, frames or room in the send queue.
  struct Outgoing {
    VerbsDelivery* delivery = nullptr;
    std::vector<std::byte> frame;
  };
  struct Work {
    ibv_send_wr request;
    ibv_sge part;
    std::uint16_t inline_frame;
  };

  // Connecting: verbs_link_connect.cpp.
  Result<void> open_queue_pair();
  Result<void> to_init();
  Result<void> to_ready(std::uint8_t mtu);
  Result<void> post_receives();
  [[nodiscard]] VerbsHello hello(std::uint8_t mtu) const;
  [[nodiscard]] Result<VerbsHello> check_hello(std::span<const std::byte> data) const;
  [[nodiscard]] std::uint8_t port_mtu() const;
  Result<void> request_connection();
  Result<void> answer_request(std::span<const std::byte> private_data);
  Result<void> complete_connection(std::span<const std::byte> private_data);
  void become_up();

  // Out: verbs_link_send.cpp.
  void enqueue(FrameKind kind, std::span<const std::byte> body);
  bool emit(Outgoing& outgoing);
  bool emit_frame(std::span<const std::byte> frame, bool returns_credits);
  bool emit_delivery(VerbsDelivery& delivery);
  bool emit_whole(VerbsDelivery& delivery);
  bool emit_writes(VerbsDelivery& delivery);
  void post(const ibv_send_wr& request, const ibv_sge& part, const SendEntry& entry, bool is_signalled);
  void flush();
  void post_work();
  void repost_receives();
  bool beat();
  void sent(std::uint32_t sequence, ibv_wc_status status);
  void end_delivery(VerbsDelivery& delivery, Status status);

  // In: verbs_link_receive.cpp.
  void on_completion(const ibv_wc& completion);
  void received(std::uint32_t index, const ibv_wc& completion);
  Result<void> take_frame(std::span<const std::byte> bytes);
  Result<void> take_grants(std::span<const std::byte> bytes);
  Result<void> take_body(FrameKind kind, std::span<const std::byte> body);
  Result<void> take_delivery(std::span<const std::byte> body, bool is_whole);
  Result<void> take_immediate(std::uint32_t slot);
  Result<void> take_revoke(const LandingName& name);
  Result<void> take_revoked(const LandingName& name);
  VerbsLanding* landing_at(std::uint32_t slot, std::uint64_t serial);
  void end_landing(std::uint32_t slot, Status status);

  // The end: verbs_link_end.cpp.
  void end(const Error& why, bool is_ours);
  void fail(const Error& why);
  void advance(Nanoseconds now);
  void begin_closing(Nanoseconds now);
  void destroy_queue_pair();
  [[nodiscard]] bool is_drained() const { return receives_posted_ == 0 && ledger_.size() == 0; }

  VerbsTransport& transport_;
  const std::uint32_t serial_;
  SocketAddress remote_;
  LinkObserver* observer_ = nullptr;
  State state_ = State::connecting;
  Error why_;
  Nanoseconds deadline_ = 0;  // of connecting, ending or draining
  bool is_acceptor_ = false;
  bool is_failed_ = false;  // the queue pair is dead
  bool is_dirty_ = false;   // in the transport's list of links to flush
  bool bye_taken_ = false;
  bool we_ended_ = false;
  bool is_disconnected_ = false;
  bool is_beating_ = false;

  OwnedConnection connection_;
  VerbsQueues* queues_ = nullptr;
  VerbsQueue* queue_ = nullptr;
  std::unique_ptr<VerbsDomain> domain_;
  std::unique_ptr<FrameMemory> frames_;
  OwnedQueuePair queue_pair_;
  std::uint32_t inline_bytes_ = 0;

  VerbsCredits credits_;
  SendLedger ledger_;
  std::uint32_t unsignalled_ = 0;
  std::vector<Work> work_;  // to be posted by flush()
  std::deque<Outgoing> outgoing_;
  std::uint32_t receives_posted_ = 0;
  std::vector<std::uint16_t> to_repost_;

  std::uint64_t next_serial_ = 1;
  std::deque<VerbsLanding> landings_;
  std::vector<std::uint32_t> free_landings_;
  std::vector<VerbsGrant> ungranted_;
  std::vector<std::optional<VerbsGrant>> grants_;  // of the peer, by slot
  std::deque<VerbsDelivery> deliveries_;           // never moves
  VerbsDelivery* free_deliveries_ = nullptr;
  std::uint32_t delivering_ = 0;
};

}  // namespace rde
