// Transport over RDMA verbs: rdma_cm makes connections, reliable queue pairs carry frames, and payloads are written
// into the landing by the hardware. See verbs_wire.h for what goes over the wire.
//
//   auto transport = VerbsTransport::create({});                 // every device; or {.device = "rxe0"}
//   (*transport)->listen(*resolve({"192.0.2.1", 18515}), acceptor);
//   for (;;) (*transport)->progress(now_ns());
//
// A peer can write to what was registered for landings on its own link (add_memory), and to nothing else.
//
// Created on any thread, then used by one alone. The destructor cuts what links are left, without calling their
// observers.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "transport/owned_memory.h"
#include "transport/verbs/verbs_link.h"

namespace rde {

struct VerbsOptions {
  std::string device;  // the only RDMA device that links may use; empty: any
  Nanoseconds connect_timeout = 5 * kSecond;
  Nanoseconds close_timeout = 500 * kMillisecond;  // for a polite end; then the link is cut
  std::uint32_t max_links = 1024;                  // more are refused
};

class VerbsTransport final : public Transport {
 public:
  // device_not_found, context_init_failed.
  static Result<std::unique_ptr<VerbsTransport>> create(const VerbsOptions& options);
  ~VerbsTransport() override;
  VerbsTransport(const VerbsTransport&) = delete;
  VerbsTransport& operator=(const VerbsTransport&) = delete;

  [[nodiscard]] std::string_view name() const override { return "verbs"; }
  [[nodiscard]] std::string device() const override { return devices_; }
  [[nodiscard]] bool is_rdma() const override { return true; }

  Result<SocketAddress> listen(const SocketAddress& where, LinkAcceptor& acceptor) override;
  Result<Link*> connect(const SocketAddress& where, LinkObserver& observer) override;
  Result<Memory*> add_memory(std::span<std::byte> bytes) override;
  void remove_memory(Memory* memory) override;

  unsigned progress(Nanoseconds now) override;
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] Nanoseconds next_timer() const override;
  [[nodiscard]] int event_descriptor() const override { return wakeups_.get(); }
  bool arm() override;

 private:
  friend class VerbsLink;

  struct Entrance {
    LinkAcceptor* acceptor;
    OwnedConnection listener;
  };
  // Told by the next progress(), not from inside the call that caused it.
  struct Deferred {
    VerbsLink* link;
    void* context;
    Status status;
  };
  struct KeptDomain {
    std::string peer;
    std::unique_ptr<VerbsDomain> domain;
  };
  struct Event {
    rdma_cm_id* id;
    rdma_cm_event_type type;
    int status;
    std::vector<std::byte> data;
  };

  explicit VerbsTransport(const VerbsOptions& options) : options_(options) {}
  Result<void> start();
  [[nodiscard]] bool may_use(const ibv_context* context) const;
  VerbsLink& add_link(std::unique_ptr<VerbsLink> link);
  std::uint32_t next_serial();

  unsigned take_events();
  void on_event(const Event& event);
  void on_request(const Event& event);
  void on_rejected(VerbsLink& link, const Event& event);
  void step(VerbsLink& link, const Result<void>& result);

  Result<VerbsQueues*> queues_for(ibv_context* context);
  Result<std::unique_ptr<VerbsDomain>> take_domain(ibv_context* context, const std::string& peer);
  void keep_domain(std::unique_ptr<VerbsDomain> domain, const std::string& peer);
  unsigned poll_queues();
  unsigned tell_deferred();
  void flush_dirty();
  void beat_links();
  void settle_links();
  void mark_dirty(VerbsLink& link);
  void defer(const Deferred& deferred) { deferred_.push_back(deferred); }
  void note_refused(const VerbsLink& link, const Error& why) const;

  VerbsOptions options_;
  std::string devices_;
  Nanoseconds now_ = 0;
  OwnedEventChannel channel_;
  Descriptor wakeups_;  // an epoll of rdma_cm's descriptor and the completion channels
  bool is_armed_ = false;
  Nanoseconds events_due_ = 0;
  Nanoseconds beat_due_ = 0;
  std::vector<std::unique_ptr<VerbsQueues>> queues_;
  std::vector<KeptDomain> kept_domains_;
  std::vector<std::unique_ptr<VerbsLink>> links_;
  std::unordered_map<std::uint32_t, VerbsLink*> by_serial_;
  std::uint32_t last_serial_ = 0;
  std::size_t unsettled_ = 0;   // links that are not simply up
  std::size_t delivering_ = 0;  // payloads on their way out
  std::vector<VerbsLink*> dirty_;
  std::vector<VerbsLink*> flushing_;
  std::vector<Deferred> deferred_;
  std::vector<Deferred> telling_;
  std::vector<std::unique_ptr<Entrance>> entrances_;
  MemoryList<VerbsMemory> memories_;
};

}  // namespace rde
