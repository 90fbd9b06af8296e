// Transport over UCX active messages: small payloads travel eagerly, large ones by rendezvous straight
// into the landing. Over TCP now.
//
//   auto device = interface_for(where);
//   auto transport = UcxTransport::create({.devices = {*device}});
//   (*transport)->listen(where, acceptor);
//   for (;;) (*transport)->progress(now_ns());
//
// UCX's own listening port is opened for expected peers only; ucx_door.h says why.
//
// UCX over TCP bounds nothing: who reaches its port can write to any address of this process. Listen on
// loopback or on a network that is trusted as a whole.
//
// Created on any thread, then used by one alone. The destructor cuts what links are left, without
// calling their observers.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/owned_memory.h"
#include "transport/ucx/ucx_context.h"
#include "transport/ucx/ucx_door.h"
#include "transport/ucx/ucx_events.h"
#include "transport/ucx/ucx_link.h"

namespace rde {

class UcxMemory final : public Memory {
 public:
  UcxMemory(ucp_context_h context, ucp_mem_h handle, std::span<std::byte> bytes)
      : Memory(bytes), context_(context), handle_(handle) {}
  ~UcxMemory() override { ucp_mem_unmap(context_, handle_); }
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;
  [[nodiscard]] ucp_mem_h handle() const { return handle_; }

 private:
  ucp_context_h context_;
  ucp_mem_h handle_;
};

class UcxTransport final : public Transport {
 public:
  static Result<std::unique_ptr<UcxTransport>> create(const UcxOptions& options);
  ~UcxTransport() override;
  UcxTransport(const UcxTransport&) = delete;
  UcxTransport& operator=(const UcxTransport&) = delete;

  [[nodiscard]] std::string_view name() const override { return "tcp"; }
  [[nodiscard]] std::string device() const override;
  [[nodiscard]] bool is_rdma() const override { return false; }

  Result<SocketAddress> listen(const SocketAddress& where, LinkAcceptor& acceptor) override;
  Result<Link*> connect(const SocketAddress& where, LinkObserver& observer) override;
  Result<Memory*> add_memory(std::span<std::byte> bytes) override;
  void remove_memory(Memory* memory) override { memories_.remove(memory); }

  unsigned progress(Nanoseconds now) override;
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] Nanoseconds next_timer() const override;
  [[nodiscard]] int event_descriptor() const override { return wakeups_.get(); }
  bool arm() override;

 private:
  friend class UcxLink;

  UcxTransport(const UcxOptions& options, std::unique_ptr<UcxContext> context);
  Result<void> start();
  Result<void> set_handlers();
  UcxLink& add_link(const SocketAddress& remote);
  bool answer_doors();
  void watch_knock(const UcxKnocking& knocking);
  void accept_pending();
  void dispatch(const UcxEvent& event, std::span<const std::byte> bytes);
  void greet(UcxLink& link);
  void settle_links(Nanoseconds now);
  void push(const UcxEvent& event, std::span<const std::byte> bytes = {});
  UcxSend* take_send();
  void return_send(UcxSend& op);
  UcxLink* find(const ucp_am_recv_param_t* param);

  static void on_connection(ucp_conn_request_h request, void* self);
  static void on_failure(void* link, ucp_ep_h endpoint, ucs_status_t code);
  static ucs_status_t on_hello(void* self, const void* header, size_t header_length, void* data, size_t length,
                               const ucp_am_recv_param_t* param);
  static ucs_status_t on_message(void* self, const void* header, size_t header_length, void* data, size_t length,
                                 const ucp_am_recv_param_t* param);
  static ucs_status_t on_deliver(void* self, const void* header, size_t header_length, void* data, size_t length,
                                 const ucp_am_recv_param_t* param);
  static ucs_status_t on_bye(void* self, const void* header, size_t header_length, void* data, size_t length,
                             const ucp_am_recv_param_t* param);

  UcxOptions options_;
  std::unique_ptr<UcxContext> context_;
  Nanoseconds now_ = 0;
  UcxEvents events_;
  std::deque<UcxSend> sends_;  // never moves
  UcxSend* free_sends_ = nullptr;
  std::vector<std::unique_ptr<UcxLink>> links_;
  std::unordered_map<ucp_ep_h, UcxLink*> by_endpoint_;
  std::size_t unsettled_ = 0;  // links that are not simply up
  std::size_t working_ = 0;    // sends and receives that UCX has
  struct Entrance {
    UcxTransport* transport;
    LinkAcceptor* acceptor;
    std::unique_ptr<UcxDoor> door;
  };
  struct Pending {
    ucp_conn_request_h request;
    Entrance* entrance;
  };
  std::vector<std::unique_ptr<Entrance>> entrances_;
  std::vector<Pending> pending_;
  Nanoseconds doors_due_ = 0;
  Descriptor wakeups_;  // an epoll of UCX's descriptor, the doors, and knocks
  MemoryList<UcxMemory> memories_;
};

}  // namespace rde
