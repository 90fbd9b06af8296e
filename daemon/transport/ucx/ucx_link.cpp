#include "transport/ucx/ucx_link.h"

#include <algorithm>
#include <cstring>

#include "transport/ucx/ucx_transport.h"

namespace rde {

Status UcxLink::start_send(UcxSend& op, unsigned id, std::size_t header_length, std::span<const std::byte> bytes,
                           unsigned flags, ucp_mem_h memory) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = &UcxLink::on_sent;
  param.user_data = &op;
  // The reply endpoint is how the receiver knows whose message it is.
  param.flags = UCP_AM_SEND_FLAG_REPLY | flags;
  if (memory != nullptr && !bytes.empty()) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    param.memh = memory;
  }
  const void* header = header_length == 0 ? nullptr : &op.deliver_head;
  ++sends_;
  ++transport_.working_;
  messages_ += op.is_delivery ? 0 : 1;
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint_, id, header, header_length, bytes.data(), bytes.size(), &param);
  if (UCS_PTR_IS_ERR(request)) {
    --sends_;
    --transport_.working_;
    messages_ -= op.is_delivery ? 0 : 1;
    transport_.return_send(op);
    return Status::peer_down;
  }
  if (request == nullptr) sent(op, UCS_OK);
  return Status::ok;
}

void UcxLink::on_sent(void* request, ucs_status_t code, void* user_data) {
  auto& op = *static_cast<UcxSend*>(user_data);
  op.link->sent(op, code);
  ucp_request_free(request);
}

void UcxLink::sent(UcxSend& op, ucs_status_t code) {
  --sends_;
  --transport_.working_;
  messages_ -= op.is_delivery ? 0 : 1;
  if (op.is_delivery) {
    const bool refused = code == UCS_ERR_CANCELED && state_ == State::up && !failed_;
    const Status status = code == UCS_OK ? Status::ok : refused ? Status::cancelled : Status::peer_down;
    transport_.push({.what = UcxEvent::What::delivered, .status = status, .link = this, .context = op.context});
  }
  transport_.return_send(op);
}

Status UcxLink::send(std::span<const std::byte> message) {
  if (message.empty() || message.size() > kMaxMessage) return Status::invalid_request;
  if (state_ != State::up || failed_) return Status::peer_down;
  if (messages_ >= kMaxBacklog) return Status::peer_busy;
  UcxSend& op = *transport_.take_send();
  op.link = this;
  op.is_delivery = false;
  op.message_head = {next_sequence_, 0};
  std::memcpy(op.message.data(), message.data(), message.size());
  const Status status =
      start_send(op, kUcxMessage, sizeof(op.message_head), std::span<const std::byte>(op.message).first(message.size()),
                 UCP_AM_SEND_FLAG_EAGER, nullptr);
  if (status == Status::ok) ++next_sequence_;
  return status;
}

Status UcxLink::deliver(std::uint64_t /*id*/, const LandingKey& key, std::span<const std::byte> header,
                        std::span<const std::byte> payload, Memory& memory, void* context) {
  if (header.size() > kMaxHeader || payload.size() > UINT32_MAX) return Status::invalid_request;
  if (!lies_in(memory.bytes(), payload)) return Status::buffer_out_of_range;
  if (state_ != State::up || failed_) return Status::peer_down;
  UcxSend& op = *transport_.take_send();
  op.link = this;
  op.is_delivery = true;
  op.context = context;
  op.deliver_head = {key.address, key.key, static_cast<std::uint32_t>(header.size()), {}};
  std::ranges::copy(header, op.deliver_head.header.begin());
  return start_send(op, kUcxDeliver, sizeof(op.deliver_head), payload, 0, static_cast<UcxMemory&>(memory).handle());
}

Result<LandingKey> UcxLink::post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) {
  if (state_ != State::up || failed_)
    return Error{Status::peer_down, "landing: the link to " + remote_.text() + " is not up"};
  if (!lies_in(memory.bytes(), destination) || destination.size() > UINT32_MAX) {
    return Error{Status::buffer_out_of_range, "landing: the destination of " + std::to_string(destination.size()) +
                                                  " bytes does not lie in the memory"};
  }
  if (free_landings_.empty()) {
    free_landings_.push_back(static_cast<std::uint32_t>(landings_.size()));
    landings_.emplace_back();
  }
  const std::uint32_t slot = free_landings_.back();
  free_landings_.pop_back();
  UcxLanding& landing = landings_[slot];
  landing = {.link = this,
             .id = id,
             .serial = next_serial_++,
             .destination = destination.data(),
             .memory = static_cast<UcxMemory&>(memory).handle(),
             .length = static_cast<std::uint32_t>(destination.size()),
             .slot = slot,
             .state = UcxLanding::State::posted};
  return LandingKey{landing.serial, slot, landing.length};
}

bool UcxLink::withdraw_landing(std::uint64_t id) {
  const auto it = std::ranges::find_if(landings_, [&](const UcxLanding& landing) {
    return landing.id == id && landing.state == UcxLanding::State::posted;
  });
  if (it == landings_.end()) return false;
  free_landing(*it);
  return true;
}

void UcxLink::free_landing(UcxLanding& landing) {
  landing.state = UcxLanding::State::free;
  free_landings_.push_back(landing.slot);
}

void UcxLink::take_hello(std::span<const std::byte> header) {
  UcxHello hello{};
  if (header.size() >= sizeof(hello)) std::memcpy(&hello, header.data(), sizeof(hello));
  hello_taken_ = true;
  transport_.push({.what = UcxEvent::What::hello, .link = this}, std::as_bytes(std::span(&hello, 1)));
}

void UcxLink::take_message(std::span<const std::byte> header, std::span<const std::byte> message) {
  if (state_ != State::connecting && state_ != State::up) return;
  UcxMessageHead head{};
  const bool is_whole = header.size() == sizeof(head) && !message.empty() && message.size() <= kMaxMessage;
  if (is_whole) std::memcpy(&head, header.data(), sizeof(head));
  if (!is_whole || !hello_taken_ || head.sequence != expected_sequence_ || head.reserved != 0) {
    transport_.push({.what = UcxEvent::What::failed, .status = Status::protocol_error, .link = this});
    return;
  }
  ++expected_sequence_;
  transport_.push({.what = UcxEvent::What::message, .link = this}, message);
}

UcxLanding* UcxLink::wanted_landing(std::span<const std::byte> header, std::size_t length) {
  UcxDeliverHead head{};
  if (header.size() != sizeof(head)) return nullptr;
  std::memcpy(&head, header.data(), sizeof(head));
  if (state_ != State::up || head.slot >= landings_.size() || head.header_length > kMaxHeader) return nullptr;
  UcxLanding& landing = landings_[head.slot];
  if (landing.state != UcxLanding::State::posted || landing.serial != head.serial || length > landing.length)
    return nullptr;
  landing.header_length = head.header_length;
  landing.header = head.header;
  return &landing;
}

// What nobody waits for is refused with an error: returning OK would tell the owner that it arrived.
ucs_status_t UcxLink::take_delivery(std::span<const std::byte> header, void* data, std::size_t length,
                                    bool rendezvous) {
  UcxLanding* landing = wanted_landing(header, length);
  if (landing == nullptr) return rendezvous ? UCS_ERR_CANCELED : UCS_OK;
  landing->state = UcxLanding::State::ended;
  if (!rendezvous) {
    if (length != 0) std::memcpy(landing->destination, data, length);
    transport_.push({.what = UcxEvent::What::landed,
                     .bytes = static_cast<std::uint32_t>(length),
                     .link = this,
                     .landing = landing});
    return UCS_OK;
  }
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMH;
  param.cb.recv_am = &UcxLink::on_received;
  param.user_data = landing;
  param.memh = landing->memory;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(transport_.context_->worker(), data, landing->destination, length, &param);
  if (UCS_PTR_IS_ERR(request)) {
    transport_.push(
        {.what = UcxEvent::What::landed, .status = Status::operation_failed, .link = this, .landing = landing});
    return UCS_PTR_STATUS(request);
  }
  if (request == nullptr) {
    transport_.push({.what = UcxEvent::What::landed,
                     .bytes = static_cast<std::uint32_t>(length),
                     .link = this,
                     .landing = landing});
  } else {
    landing->state = UcxLanding::State::receiving;
    ++receiving_;
    ++transport_.working_;
  }
  return UCS_INPROGRESS;  // UCX keeps its descriptor until the data is there
}

void UcxLink::on_received(void* request, ucs_status_t code, std::size_t length, void* user_data) {
  auto& landing = *static_cast<UcxLanding*>(user_data);
  UcxLink& link = *landing.link;
  landing.state = UcxLanding::State::ended;
  --link.receiving_;
  --link.transport_.working_;
  link.transport_.push({.what = UcxEvent::What::landed,
                        .status = code == UCS_OK ? Status::ok : Status::peer_down,
                        .bytes = code == UCS_OK ? static_cast<std::uint32_t>(length) : 0,
                        .link = &link,
                        .landing = &landing});
  ucp_request_free(request);
}

void UcxLink::dispatch_landed(UcxLanding& landing, std::uint32_t bytes, Status status) {
  const std::uint64_t id = landing.id;
  const auto header = landing.header;
  const std::size_t header_length = status == Status::ok ? landing.header_length : 0;
  free_landing(landing);
  if (observer_ != nullptr) {
    observer_->on_landed(*this, id, std::span<const std::byte>(header).first(header_length), bytes, status);
  }
}

}  // namespace rde
