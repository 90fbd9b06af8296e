// How a link ends; see the states in verbs_link.h.
#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

void VerbsLink::end(const Error& why, bool is_ours) {
  if (state_ != State::connecting && state_ != State::up) return;
  const bool was_up = state_ == State::up;
  why_ = why;
  we_ended_ = is_ours;
  state_ = State::ending;
  deadline_ = transport_.now_;
  ungranted_.clear();
  if (!was_up) return;
  ++transport_.unsettled_;
  if (is_failed_ || is_disconnected_) return;
  deadline_ += transport_.options_.close_timeout;
  enqueue(FrameKind::bye, {});
}

// The queue pair is of no use any more; nothing of it is told before it is destroyed.
void VerbsLink::fail(const Error& why) {
  is_failed_ = true;
  end(why, false);
}

void VerbsLink::advance(Nanoseconds now) {
  if (state_ == State::connecting && now >= deadline_) {
    end({Status::peer_unreachable, remote_.text() + " did not answer before the connect timeout"}, false);
  }
  if (state_ == State::ending) {
    // The side that ended first waits for the answer, the other for the connection to break.
    const bool is_answered = we_ended_ && bye_taken_ && outgoing_.empty() && ledger_.size() == 0;
    if (is_failed_ || is_disconnected_ || is_answered || now >= deadline_) begin_closing(now);
  }
  if (state_ == State::closing && (!queue_pair_ || is_drained() || now >= deadline_)) destroy_queue_pair();
}

void VerbsLink::begin_closing(Nanoseconds now) {
  state_ = State::closing;
  deadline_ = now + kDrainTime;
  if (!queue_pair_) return;
  rdma_disconnect(connection_.get());
  // One more completion, behind all others: what was not signalled is known to be over by it.
  if (ledger_.size() != 0 && ledger_.room() != 0) {
    ibv_send_wr last{};
    last.opcode = IBV_WR_RDMA_WRITE;
    post(last, {}, {}, true);
    post_work();
  }
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  ibv_modify_qp(queue_pair_.get(), &attributes, IBV_QP_STATE);
}

void VerbsLink::destroy_queue_pair() {
  transport_.tell_deferred();
  queue_pair_.reset();
  if (queue_ != nullptr) queues_->leave(*queue_);
  queue_ = nullptr;
  frames_.reset();
  connection_.reset();
  if (domain_) transport_.keep_domain(std::move(domain_), is_acceptor_ ? std::string() : remote_.text());
  for (std::uint32_t slot = 0; slot < landings_.size(); ++slot) {
    if (landings_[slot].state != VerbsLanding::State::free) end_landing(slot, Status::peer_down);
  }
  for (VerbsDelivery& delivery : deliveries_) {
    if (!delivery.is_free) end_delivery(delivery, Status::peer_down);
  }
  outgoing_.clear();
  state_ = State::gone;
}

}  // namespace rde
