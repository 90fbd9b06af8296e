// How a link begins and ends; see the states in ucx_link.h.
#include <string>

#include "transport/ucx/ucx_runtime.h"
#include "transport/ucx/ucx_transport.h"

namespace rde {

// The door has answered, or not yet.
void UcxLink::step_knock() {
  const auto where = knocking_->step();
  if (!where) return end(where.error(), false);
  transport_.watch_knock(*knocking_);
  if (!*where) return;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  params.sockaddr = {reinterpret_cast<const sockaddr*>(&(*where)->storage), (*where)->length};
  if (auto opened = open_endpoint(params); !opened) end(opened.error(), false);
}

Result<void> UcxLink::open_endpoint(ucp_ep_params_t& params) {
  params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {&UcxTransport::on_failure, this};
  if (const auto code = ucp_ep_create(transport_.context_->worker(), &params, &endpoint_); code != UCS_OK) {
    endpoint_ = nullptr;
    return ucx_error(Status::peer_unreachable, remote_.text(), code);
  }
  mark_descriptors_close_on_exec();
  transport_.by_endpoint_[endpoint_] = this;
  say_hello();
  return {};
}

void UcxLink::say_hello() {
  UcxSend& op = *transport_.take_send();
  op.link = this;
  op.is_delivery = false;
  op.hello = {kUcxMagic, kUcxWireVersion};
  if (start_send(op, kUcxHello, sizeof(op.hello), {}, UCP_AM_SEND_FLAG_EAGER, nullptr) != Status::ok) failed_ = true;
}

void UcxLink::end(const Error& why, bool is_ours) {
  if (state_ != State::connecting && state_ != State::up) return;
  const bool was_up = state_ == State::up;
  why_ = why;
  we_ended_ = is_ours;
  state_ = State::ending;
  deadline_ = transport_.now_;
  if (was_up) ++transport_.unsettled_;
  // Nothing has begun for these and nothing can any more: UCX drops what comes for a landing that is not posted.
  for (UcxLanding& landing : landings_) {
    if (landing.state != UcxLanding::State::posted) continue;
    landing.state = UcxLanding::State::ended;
    transport_.push({.what = UcxEvent::What::landed, .status = Status::peer_down, .link = this, .landing = &landing});
  }
  if (!was_up || failed_) return;
  UcxSend& op = *transport_.take_send();
  op.link = this;
  op.is_delivery = false;
  if (start_send(op, kUcxBye, 0, {}, UCP_AM_SEND_FLAG_EAGER, nullptr) == Status::ok) {
    deadline_ += transport_.options_.close_timeout;
  }
}

void UcxLink::close_by_force() {
  state_ = State::closing;
  if (endpoint_ == nullptr) return;
  transport_.by_endpoint_.erase(endpoint_);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t request = ucp_ep_close_nbx(endpoint_, &param);
  close_request_ = UCS_PTR_IS_PTR(request) ? request : nullptr;
}

void UcxLink::advance(Nanoseconds now) {
  if (state_ == State::connecting && endpoint_ == nullptr) step_knock();
  if (state_ == State::connecting && (failed_ || now >= deadline_)) {
    std::string text = remote_.text();
    text += failed_ ? " broke off while the link was made" : " did not answer before the connect timeout";
    if (endpoint_ != nullptr && knocking_) {
      text += " (UCX " + knocking_->their_ucx() + " there, " + ucx_runtime_version() + " here)";
    }
    end({Status::peer_unreachable, std::move(text)}, false);
  }
  // The side that ended first waits for the answer, the other for the connection to break.
  if (state_ == State::ending && (failed_ || now >= deadline_ || (we_ended_ && bye_taken_))) close_by_force();
  if (state_ != State::closing) return;
  if (close_request_ != nullptr) {
    if (ucp_request_check_status(close_request_) == UCS_INPROGRESS) return;
    ucp_request_free(close_request_);
    close_request_ = nullptr;
  }
  if (!has_work() && events_ == 0) state_ = State::gone;
}

}  // namespace rde
