// How a link posts what is queued: frames, writes, heartbeats; and what their completions mean.
#include <arpa/inet.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

void VerbsLink::post(const ibv_send_wr& request, const ibv_sge& part, const SendEntry& entry, bool is_signalled) {
  Work& work = work_.emplace_back(Work{request, part, SendEntry::kNoFrame});
  const bool is_signal_due = ++unsignalled_ >= kSignalEvery;
  if (is_signalled || is_signal_due) {
    work.request.send_flags |= IBV_SEND_SIGNALED;
    unsignalled_ = 0;
  }
  SendEntry noted = entry;
  if (entry.frame != SendEntry::kNoFrame && part.length <= inline_bytes_) {
    // The device has its own copy once it is posted.
    work.request.send_flags |= IBV_SEND_INLINE;
    work.inline_frame = std::exchange(noted.frame, SendEntry::kNoFrame);
  }
  work.request.wr_id = (std::uint64_t{serial_} << 32) | ledger_.add(noted);
}

bool VerbsLink::emit_frame(std::span<const std::byte> frame, bool returns_credits) {
  const bool may = returns_credits ? credits_.may_return() : credits_.may_send(1);
  if (!may || ledger_.room() <= kSendReserve || !frames_->has_free()) return false;
  credits_.take(1);
  const std::uint16_t index = frames_->take();
  const auto bytes = frames_->send(index).first(frame.size());
  std::ranges::copy(frame, bytes.begin());
  const std::uint16_t credits = credits_.settle();
  std::memcpy(bytes.data() + offsetof(FrameHead, credits), &credits, sizeof(credits));
  ibv_send_wr request{};
  request.opcode = IBV_WR_SEND;
  // What came before the bye is known to have arrived once the bye has.
  const bool is_bye = static_cast<FrameKind>(bytes[offsetof(FrameHead, kind)]) == FrameKind::bye;
  post(request, frames_->part(bytes), {.frame = index}, is_bye);
  return true;
}

bool VerbsLink::emit(Outgoing& outgoing) {
  return outgoing.delivery != nullptr ? emit_delivery(*outgoing.delivery) : emit_frame(outgoing.frame, false);
}

bool VerbsLink::emit_delivery(VerbsDelivery& delivery) {
  return delivery.payload.size() <= kEagerPayload ? emit_whole(delivery) : emit_writes(delivery);
}

bool VerbsLink::emit_whole(VerbsDelivery& delivery) {
  std::array<std::byte, kFrameBytes> frame;
  const std::size_t length = sizeof(DeliveryHead) + delivery.payload.size();
  const FrameHead head{
      .kind = FrameKind::whole, .reserved = 0, .grants = 0, .credits = 0, .length = static_cast<std::uint16_t>(length)};
  std::memcpy(frame.data(), &head, sizeof(head));
  std::memcpy(frame.data() + sizeof(head), &delivery.head, sizeof(delivery.head));
  if (!delivery.payload.empty()) {
    std::memcpy(frame.data() + sizeof(head) + sizeof(delivery.head), delivery.payload.data(), delivery.payload.size());
  }
  if (!emit_frame(std::span<const std::byte>(frame).first(sizeof(head) + length), false)) return false;
  transport_.defer({this, delivery.context, Status::ok});
  delivery.is_free = true;
  delivery.next = std::exchange(free_deliveries_, &delivery);
  --delivering_;
  --transport_.delivering_;
  return true;
}

// Begin, then writes; false: the rest waits for room.
bool VerbsLink::emit_writes(VerbsDelivery& delivery) {
  if (!delivery.has_begun) {
    if (!credits_.may_send(2) || ledger_.room() <= kSendReserve + 1 || !frames_->has_free()) return false;
    std::array<std::byte, sizeof(FrameHead) + sizeof(DeliveryHead)> frame;
    const FrameHead head{
        .kind = FrameKind::begin, .reserved = 0, .grants = 0, .credits = 0, .length = sizeof(DeliveryHead)};
    std::memcpy(frame.data(), &head, sizeof(head));
    std::memcpy(frame.data() + sizeof(head), &delivery.head, sizeof(delivery.head));
    emit_frame(frame, false);
    credits_.take(1);  // for the immediate
    delivery.has_begun = true;
  }
  while (delivery.written < delivery.payload.size()) {
    if (ledger_.room() <= kSendReserve) return false;
    const auto slice = delivery.payload.subspan(delivery.written)
                           .first(std::min<std::size_t>(delivery.payload.size() - delivery.written, kWriteBytes));
    const bool is_last = delivery.written + slice.size() == delivery.payload.size();
    ibv_send_wr request{};
    request.opcode = is_last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    request.imm_data = htonl(delivery.grant.slot);
    request.wr.rdma = {.remote_addr = delivery.grant.address + delivery.written, .rkey = delivery.grant.rkey};
    const ibv_sge part{.addr = reinterpret_cast<std::uintptr_t>(slice.data()),
                       .length = static_cast<std::uint32_t>(slice.size()),
                       .lkey = delivery.key};
    post(request, part, {.delivery = is_last ? &delivery : nullptr}, is_last);
    delivery.written += slice.size();
  }
  return true;
}

void VerbsLink::flush() {
  if (!queue_pair_ || is_failed_ || state_ == State::connecting || state_ >= State::closing) return;
  repost_receives();
  while (!outgoing_.empty() && emit(outgoing_.front())) outgoing_.pop_front();
  while (!ungranted_.empty() && outgoing_.empty()) enqueue(FrameKind::credit, {});
  if (credits_.should_return()) {
    const FrameHead head{.kind = FrameKind::credit, .reserved = 0, .grants = 0, .credits = 0, .length = 0};
    emit_frame(std::as_bytes(std::span(&head, 1)), true);
  }
  post_work();
}

void VerbsLink::post_work() {
  if (work_.empty()) return;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    Work& work = work_[i];
    work.request.sg_list = &work.part;
    work.request.num_sge = work.part.length == 0 ? 0 : 1;
    work.request.next = i + 1 < work_.size() ? &work_[i + 1].request : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  const int code = ibv_post_send(queue_pair_.get(), &work_.front().request, &bad);
  for (const Work& work : work_) {
    if (work.inline_frame != SendEntry::kNoFrame) frames_->give_back(work.inline_frame);
  }
  work_.clear();
  if (code != 0) fail(verbs_error(Status::peer_down, "posting to " + remote_.text(), code));
}

// Answers whether a beat went out. One at a time: what is missed is its acknowledgement.
bool VerbsLink::beat() {
  if (state_ != State::up || is_beating_ || is_failed_ || ledger_.room() <= 1) return false;
  is_beating_ = true;
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_WRITE;
  post(request, {}, {.is_heartbeat = true}, true);
  post_work();
  return true;
}

void VerbsLink::sent(std::uint32_t sequence, ibv_wc_status status) {
  ledger_.complete(sequence, [&](const SendEntry& entry) {
    if (entry.frame != SendEntry::kNoFrame) frames_->give_back(entry.frame);
    if (entry.is_heartbeat) is_beating_ = false;
    // One that failed ends with the link, once nothing reads it any more.
    if (entry.delivery != nullptr && status == IBV_WC_SUCCESS) end_delivery(*entry.delivery, Status::ok);
  });
  if (!outgoing_.empty() || credits_.should_return()) transport_.mark_dirty(*this);
}

void VerbsLink::end_delivery(VerbsDelivery& delivery, Status status) {
  void* context = delivery.context;
  delivery.is_free = true;
  delivery.next = std::exchange(free_deliveries_, &delivery);
  --delivering_;
  --transport_.delivering_;
  if (observer_ != nullptr) observer_->on_delivered(*this, context, status);
}

}  // namespace rde
