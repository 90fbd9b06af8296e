#include "transport/ucx/ucx_transport.h"

#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/ucx/ucx_runtime.h"

namespace rde {
namespace {

constexpr Nanoseconds kTeardown = 2 * kSecond;
constexpr Nanoseconds kDoorPause = 100 * kMicrosecond;  // a look at the doors is a system call
constexpr Nanoseconds kCloseCheck = kMillisecond;       // UCX completes a forced close from progress alone

std::span<const std::byte> as_span(const void* data, std::size_t length) {
  return {static_cast<const std::byte*>(data), length};
}

bool is_rendezvous(const ucp_am_recv_param_t* param) { return (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0; }

}  // namespace

UcxTransport::UcxTransport(const UcxOptions& options, std::unique_ptr<UcxContext> context)
    : options_(options), context_(std::move(context)), now_(now_ns()) {}

Result<std::unique_ptr<UcxTransport>> UcxTransport::create(const UcxOptions& options) {
  auto context = UcxContext::open(options);
  if (!context) return context.error();
  std::unique_ptr<UcxTransport> transport(new UcxTransport(options, std::move(*context)));
  if (auto started = transport->start(); !started) return started.error();
  return transport;
}

Result<void> UcxTransport::start() {
  wakeups_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (!wakeups_ || ::epoll_ctl(wakeups_.get(), EPOLL_CTL_ADD, context_->event_descriptor(), &event) != 0) {
    return system_error("epoll of the transport", errno);
  }
  return set_handlers();
}

Result<void> UcxTransport::set_handlers() {
  const std::pair<unsigned, ucp_am_recv_callback_t> handlers[] = {
      {kUcxHello, &on_hello}, {kUcxMessage, &on_message}, {kUcxDeliver, &on_deliver}, {kUcxBye, &on_bye}};
  for (const auto& [id, handler] : handlers) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.cb = handler;
    param.arg = this;
    if (const auto code = ucp_worker_set_am_recv_handler(context_->worker(), &param); code != UCS_OK) {
      return ucx_error(Status::context_init_failed, "active message handler", code);
    }
  }
  return {};
}

UcxTransport::~UcxTransport() {
  for (auto& pending : pending_) pending.entrance->door->reject(pending.request);
  pending_.clear();
  entrances_.clear();
  for (auto& link : links_) {
    link->observer_ = nullptr;
    link->end({Status::peer_down, "the transport goes away"}, true);
  }
  const Nanoseconds deadline = now_ns() + kTeardown;
  while (!links_.empty() && now_ns() < deadline) progress(now_ns());
  for (auto& link : links_) {
    if (link->state_ == UcxLink::State::ending) link->close_by_force();
  }
}

std::string UcxTransport::device() const {
  std::string text;
  for (const auto& name : options_.devices) text += (text.empty() ? "" : ",") + name;
  return text.empty() ? "all" : text;
}

Result<SocketAddress> UcxTransport::listen(const SocketAddress& where, LinkAcceptor& acceptor) {
  auto entrance = std::make_unique<Entrance>(Entrance{this, &acceptor, nullptr});
  auto door = UcxDoor::open(where, context_->worker(), &UcxTransport::on_connection, entrance.get());
  if (!door) return door.error();
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (::epoll_ctl(wakeups_.get(), EPOLL_CTL_ADD, (*door)->event_descriptor(), &event) != 0) {
    return system_error("epoll of the transport", errno);
  }
  entrance->door = std::move(*door);
  return entrances_.emplace_back(std::move(entrance))->door->where();
}

UcxLink& UcxTransport::add_link(const SocketAddress& remote) {
  UcxLink& link = *links_.emplace_back(std::make_unique<UcxLink>(*this, remote));
  link.deadline_ = now_ns() + options_.connect_timeout;  // now_ is as old as the last progress()
  ++unsettled_;
  return link;
}

void UcxTransport::watch_knock(const UcxKnocking& knocking) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (!knocking.is_sent()) event.events |= EPOLLOUT;
  if (::epoll_ctl(wakeups_.get(), EPOLL_CTL_MOD, knocking.descriptor(), &event) != 0) {
    ::epoll_ctl(wakeups_.get(), EPOLL_CTL_ADD, knocking.descriptor(), &event);
  }
}

Result<Link*> UcxTransport::connect(const SocketAddress& where, LinkObserver& observer) {
  if (links_.size() >= options_.max_links) {
    return Error{Status::too_many_peers, "connect " + where.text() + ": " + std::to_string(options_.max_links) +
                                             " links are open, the limit (max_links)"};
  }
  if (!options_.devices.empty()) {
    const auto device = interface_for(where);
    if (!device) return device.error().in("connect");
    if (std::ranges::find(options_.devices, *device) == options_.devices.end()) {
      return Error{Status::peer_unreachable, "connect " + where.text() + ": its way is interface '" + *device +
                                                 "', UCX was given '" + this->device() + "'; add it to the devices"};
    }
  }
  auto knocking = UcxKnocking::begin(where);
  if (!knocking) return knocking.error();
  UcxLink& link = add_link(where);
  link.observer_ = &observer;
  link.knocking_.emplace(std::move(*knocking));
  watch_knock(*link.knocking_);
  return &link;
}

void UcxTransport::accept_pending() {
  auto pending = std::exchange(pending_, {});
  for (const auto& [request, entrance] : pending) {
    ucp_conn_request_attr_t attributes{};
    attributes.field_mask = UCP_CONN_REQUEST_ATTR_FIELD_CLIENT_ADDR;
    const bool is_known = ucp_conn_request_query(request, &attributes) == UCS_OK;
    SocketAddress remote;
    remote.storage = attributes.client_address;
    remote.length = remote.storage.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    if (!is_known || !entrance->door->admit(remote) || links_.size() >= options_.max_links) {
      entrance->door->reject(request);
      continue;
    }
    UcxLink& link = add_link(remote);
    link.acceptor_ = entrance->acceptor;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST;
    params.conn_request = request;
    // Where it fails, UCX has released the request.
    if (auto opened = link.open_endpoint(params); !opened) link.end(opened.error(), false);
  }
}

bool UcxTransport::answer_doors() {
  doors_due_ = now_ + kDoorPause;
  bool any = false;
  for (auto& entrance : entrances_) any |= entrance->door->progress(now_);
  return any;
}

Result<Memory*> UcxTransport::add_memory(std::span<std::byte> bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = bytes.data();
  params.length = bytes.size();
  ucp_mem_h handle = nullptr;
  if (const auto code = ucp_mem_map(context_->context(), &params, &handle); code != UCS_OK) {
    return ucx_error(Status::registration_failed, "memory of " + std::to_string(bytes.size()) + " bytes", code);
  }
  return memories_.add(std::make_unique<UcxMemory>(context_->context(), handle, bytes));
}

UcxSend* UcxTransport::take_send() {
  if (free_sends_ == nullptr) return &sends_.emplace_back();
  return std::exchange(free_sends_, free_sends_->next);
}

void UcxTransport::return_send(UcxSend& op) { op.next = std::exchange(free_sends_, &op); }

void UcxTransport::push(const UcxEvent& event, std::span<const std::byte> bytes) {
  ++event.link->events_;
  events_.push(event, bytes);
}

unsigned UcxTransport::progress(Nanoseconds now) {
  now_ = std::max(now_, now);
  unsigned events = ucp_worker_progress(context_->worker());
  if (!pending_.empty()) accept_pending();
  if (!entrances_.empty() && now_ >= doors_due_) events += answer_doors() ? 1 : 0;
  if (!events_.empty()) {
    events += events_.drain([&](const UcxEvent& event, std::span<const std::byte> bytes) { dispatch(event, bytes); });
  }
  if (unsettled_ != 0) settle_links(now_);
  return events;
}

void UcxTransport::dispatch(const UcxEvent& event, std::span<const std::byte> bytes) {
  UcxLink& link = *event.link;
  --link.events_;
  switch (event.what) {
    case UcxEvent::What::hello: {
      UcxHello hello{};
      std::memcpy(&hello, bytes.data(), sizeof(hello));
      if (hello.magic == kUcxMagic && hello.version == kUcxWireVersion) return greet(link);
      return link.end(
          {Status::peer_version, link.remote_.text() + " speaks link version " + std::to_string(hello.version) +
                                     ", this engine " + std::to_string(kUcxWireVersion)},
          true);
    }
    case UcxEvent::What::message:
      if (link.state_ == UcxLink::State::up && link.observer_ != nullptr) link.observer_->on_message(link, bytes);
      return;
    case UcxEvent::What::bye:
      link.bye_taken_ = true;
      return link.end({Status::peer_down, "the peer closed the link"}, false);
    case UcxEvent::What::landed:
      return link.dispatch_landed(*event.landing, event.bytes, event.status);
    case UcxEvent::What::delivered:
      if (link.observer_ != nullptr) link.observer_->on_delivered(link, event.context, event.status);
      return;
    case UcxEvent::What::failed:
      if (event.status == Status::protocol_error) {
        return link.end(
            {Status::protocol_error, link.remote_.text() + " sent a message that is out of order or not whole"}, true);
      }
      if (link.state_ == UcxLink::State::up)
        link.end({Status::peer_down, "the connection to " + link.remote_.text() + " was lost"}, false);
      return;
  }
}

void UcxTransport::greet(UcxLink& link) {
  if (link.state_ != UcxLink::State::connecting) return;
  if (link.acceptor_ != nullptr) {
    link.observer_ = link.acceptor_->on_accept(link);
    if (link.observer_ == nullptr) return link.end({Status::peer_not_allowed, "refused"}, true);
  }
  link.state_ = UcxLink::State::up;
  link.knocking_.reset();
  --unsettled_;
  mark_descriptors_close_on_exec();  // connecting opened more of them
  link.observer_->on_up(link);
}

void UcxTransport::settle_links(Nanoseconds now) {
  for (std::size_t i = 0; i < links_.size();) {
    if (!links_[i]->is_settled()) links_[i]->advance(now);
    if (links_[i]->state_ != UcxLink::State::gone) {
      ++i;
      continue;
    }
    const auto link = std::move(links_[i]);
    links_[i] = std::move(links_.back());
    links_.pop_back();
    --unsettled_;
    if (link->observer_ != nullptr) link->observer_->on_down(*link, link->why_);
  }
}

bool UcxTransport::busy() const { return working_ != 0 || !events_.empty() || !pending_.empty(); }

Nanoseconds UcxTransport::next_timer() const {
  Nanoseconds next = kNoTimer;
  for (const auto& entrance : entrances_) next = std::min(next, entrance->door->next_timer());
  if (unsettled_ == 0) return next;
  for (const auto& link : links_) {
    if (link->state_ == UcxLink::State::closing) next = std::min(next, now_ + kCloseCheck);
    if (link->state_ == UcxLink::State::ending || link->state_ == UcxLink::State::connecting)
      next = std::min(next, link->deadline_);
  }
  return next;
}

bool UcxTransport::arm() { return events_.empty() && pending_.empty() && ucp_worker_arm(context_->worker()) == UCS_OK; }

// From here on: called by UCX, inside ucp_worker_progress. These only note what happened.

void UcxTransport::on_connection(ucp_conn_request_h request, void* self) {
  auto* entrance = static_cast<Entrance*>(self);
  entrance->transport->pending_.push_back({request, entrance});
}

void UcxTransport::on_failure(void* self, ucp_ep_h /*endpoint*/, ucs_status_t /*code*/) {
  auto& link = *static_cast<UcxLink*>(self);
  link.failed_ = true;
  link.transport_.push({.what = UcxEvent::What::failed, .status = Status::peer_down, .link = &link});
}

UcxLink* UcxTransport::find(const ucp_am_recv_param_t* param) {
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) == 0) return nullptr;
  const auto it = by_endpoint_.find(param->reply_ep);
  return it == by_endpoint_.end() ? nullptr : it->second;
}

ucs_status_t UcxTransport::on_hello(void* self, const void* header, size_t header_length, void* /*data*/,
                                    size_t /*length*/, const ucp_am_recv_param_t* param) {
  auto* link = static_cast<UcxTransport*>(self)->find(param);
  if (link != nullptr) link->take_hello(as_span(header, header_length));
  return is_rendezvous(param) ? UCS_ERR_CANCELED : UCS_OK;
}

ucs_status_t UcxTransport::on_message(void* self, const void* header, size_t header_length, void* data, size_t length,
                                      const ucp_am_recv_param_t* param) {
  if (is_rendezvous(param)) return UCS_ERR_CANCELED;
  auto* link = static_cast<UcxTransport*>(self)->find(param);
  if (link != nullptr) link->take_message(as_span(header, header_length), as_span(data, length));
  return UCS_OK;
}

ucs_status_t UcxTransport::on_deliver(void* self, const void* header, size_t header_length, void* data, size_t length,
                                      const ucp_am_recv_param_t* param) {
  auto* link = static_cast<UcxTransport*>(self)->find(param);
  const bool rendezvous = is_rendezvous(param);
  if (link == nullptr) return rendezvous ? UCS_ERR_CANCELED : UCS_OK;
  return link->take_delivery(as_span(header, header_length), data, length, rendezvous);
}

ucs_status_t UcxTransport::on_bye(void* self, const void* /*header*/, size_t /*header_length*/, void* /*data*/,
                                  size_t /*length*/, const ucp_am_recv_param_t* param) {
  auto* link = static_cast<UcxTransport*>(self)->find(param);
  if (link != nullptr) link->transport_.push({.what = UcxEvent::What::bye, .link = link});
  return is_rendezvous(param) ? UCS_ERR_CANCELED : UCS_OK;
}

}  // namespace rde
