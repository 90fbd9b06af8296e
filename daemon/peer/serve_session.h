// A peer that reads from this engine: one accepted link. Owner thread only.
#pragma once

#include <optional>
#include <vector>

#include "object/object_source.h"
#include "peer/handshake.h"
#include "peer/heartbeat.h"
#include "peer/list.h"
#include "peer/region_protocol.h"
#include "peer/staging_blocks.h"
#include "peer/volumes.h"
#include "region/region_access.h"
#include "transport/transport.h"

namespace rde {

class Responder;
class ServeSession;

// One request of a peer on its way through this engine: queued, in the source, or being delivered.
class Serve final : public ObjectJob, public ListNode {
 public:
  enum class State : std::uint8_t { queued, reading, delivering };

  virtual ~Serve() = default;
  void on_done() override;

  Responder* responder = nullptr;
  ServeSession* session = nullptr;  // null: its link is gone
  std::size_t place = 0;            // in the session's list
  State state = State::queued;
  bool cancelled = false;  // CREDIT is owed
  std::uint64_t request_id = 0;
  std::uint32_t length = 0;
  LandingKey landing;
  std::optional<StagingBlocks::Block> block;

  // A part of a region, instead of an object.
  struct RegionPart {
    rde_region_token token{};
    regions::Place at;
  };
  std::optional<RegionPart> region;
};

class ServeSession final : public LinkObserver, public ListNode {
 public:
  ServeSession(Responder& responder, Link& link);
  virtual ~ServeSession() = default;
  ServeSession(const ServeSession&) = delete;
  ServeSession& operator=(const ServeSession&) = delete;

  // Starts one small and one large request where there is staging memory; false: nothing could start.
  bool start_some();
  [[nodiscard]] bool has_queued() const { return !small_.empty() || !large_.empty(); }
  [[nodiscard]] bool is_gone() const { return link_ == nullptr; }
  [[nodiscard]] bool is_serving() const { return link_ != nullptr && is_serving_; }

  void tick(Nanoseconds now);
  void announce_anew() { announcer_.restart(); }
  void announce();
  void say_goodbye();
  void close(const Error& why);

  // The source has finished; called by the serve.
  void answer(Serve& serve);

 private:
  void on_up(Link& link) override;
  void on_message(Link& link, std::span<const std::byte> message) override;
  void on_landed(Link& /*link*/, std::uint64_t /*id*/, std::span<const std::byte> /*header*/, std::uint32_t /*bytes*/,
                 Status /*status*/) override {}
  void on_delivered(Link& link, void* context, Status status) override;
  void on_down(Link& link, const Error& why) override;

  void greet(std::span<const std::byte> message);
  void begin_serving();
  Result<void> take(const wire::Head& head, std::span<const std::byte> message);
  Result<void> take_request(std::span<const std::byte> message);
  // An error where the peer may not send this request now.
  Result<void> check_request(std::uint64_t id) const;
  Serve& add_serve(std::uint64_t id, const LandingKey& landing, std::uint32_t budget_ms);
  void begin(Serve& serve, Status refusal);
  Result<void> take_cancel(std::span<const std::byte> message);
  void start(Serve& serve);
  // serve_region.cpp
  Result<void> take_region_read(std::span<const std::byte> message);
  Result<void> take_region_write(std::span<const std::byte> message);
  Result<void> take_region_word(std::span<const std::byte> message);
  void copy_region(Serve& serve);
  void answer_region(std::uint64_t id, const regions::Word& word);
  void deliver(Serve& serve);
  void release(Serve& serve);
  void give_credit(std::uint64_t id);
  void fail_link(const Error& error);
  template <class M>
  void send(const M& message);

  Responder& responder_;
  Link* link_;
  std::optional<Handshake> handshake_;
  bool is_serving_ = false;
  Nanoseconds greet_until_ = kNoTimer;  // until the link is up
  Heartbeat heartbeat_;
  VolumeAnnouncer announcer_;
  List<Serve> small_;  // queued
  List<Serve> large_;
  std::vector<Serve*> serves_;    // all of them
  std::uint32_t unanswered_ = 0;  // of those, queued or reading
  std::uint32_t large_blocks_ = 0;
};

}  // namespace rde
