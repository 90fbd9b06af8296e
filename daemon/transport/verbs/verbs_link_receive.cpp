// What a link receives. Everything that the peer says is checked; what is wrong ends the link.
#include <arpa/inet.h>

#include <cstring>

#include "transport/verbs/verbs_transport.h"

namespace rde {
namespace {

constexpr std::uint64_t kReceiveMark = 0x80000000;

template <class T>
T read(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

Error wrong(std::string text) { return {Status::protocol_error, std::move(text)}; }

}  // namespace

void VerbsLink::on_completion(const ibv_wc& completion) {
  const auto index = static_cast<std::uint32_t>(completion.wr_id);
  const bool is_receive = (index & kReceiveMark) != 0;
  if (is_receive) {
    --receives_posted_;
  } else {
    sent(index & SendLedger::kSequenceMask, completion.status);
  }
  if (completion.status != IBV_WC_SUCCESS) {
    return fail({Status::peer_down,
                 "the connection to " + remote_.text() + " was lost (" + ibv_wc_status_str(completion.status) + ")"});
  }
  if (is_receive) received(index & ~static_cast<std::uint32_t>(kReceiveMark), completion);
}

void VerbsLink::received(std::uint32_t index, const ibv_wc& completion) {
  // The peer may speak before rdma_cm has told us that the connection stands.
  if (state_ == State::connecting) become_up();
  if (state_ == State::up) {
    const auto taken = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM
                           ? take_immediate(ntohl(completion.imm_data))
                           : take_frame(frames_->receive(index).first(completion.byte_len));
    if (!taken) {
      transport_.note_refused(*this, taken.error());
      end(taken.error(), true);
    }
  } else if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM && completion.byte_len >= sizeof(FrameHead)) {
    // A link that ends listens for credits, that its last words get out, and for the bye.
    const auto head = read<FrameHead>(frames_->receive(index));
    credits_.give(head.credits);
    if (head.kind == FrameKind::bye) bye_taken_ = true;
  }
  if (state_ >= State::closing) return;
  to_repost_.push_back(static_cast<std::uint16_t>(index));
  transport_.mark_dirty(*this);
}

Result<void> VerbsLink::take_frame(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(FrameHead)) return wrong("frame of " + std::to_string(bytes.size()) + " bytes");
  const auto head = read<FrameHead>(bytes);
  const std::size_t grants = std::size_t{head.grants} * sizeof(VerbsGrant);
  if (head.reserved != 0 || sizeof(head) + grants + head.length != bytes.size()) {
    return wrong("frame.grants or frame.length does not fit its " + std::to_string(bytes.size()) + " bytes");
  }
  if (!credits_.give(head.credits)) return wrong("frame.credits gives more than there are receives");
  if (auto taken = take_grants(bytes.subspan(sizeof(head), grants)); !taken) return taken;
  return take_body(head.kind, bytes.subspan(sizeof(head) + grants));
}

Result<void> VerbsLink::take_grants(std::span<const std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(VerbsGrant))) {
    const auto grant = read<VerbsGrant>(bytes);
    if (grant.slot >= kMaxLandings || grant.reserved != 0) {
      return wrong("grant.slot " + std::to_string(grant.slot) + " is not under " + std::to_string(kMaxLandings));
    }
    if (grants_.size() <= grant.slot) grants_.resize(grant.slot + 1);
    if (grants_[grant.slot]) return wrong("grant.slot " + std::to_string(grant.slot) + " is in use");
    grants_[grant.slot] = grant;
  }
  return {};
}

Result<void> VerbsLink::take_body(FrameKind kind, std::span<const std::byte> body) {
  switch (kind) {
    case FrameKind::message:
      if (body.empty() || body.size() > kMaxMessage)
        return wrong("message of " + std::to_string(body.size()) + " bytes");
      observer_->on_message(*this, body);
      return {};
    case FrameKind::whole:
      return take_delivery(body, true);
    case FrameKind::begin:
      return take_delivery(body, false);
    case FrameKind::revoke:
      if (body.size() != sizeof(LandingName)) return wrong("revoke of another size");
      return take_revoke(read<LandingName>(body));
    case FrameKind::revoked:
      if (body.size() != sizeof(LandingName)) return wrong("revoked of another size");
      return take_revoked(read<LandingName>(body));
    case FrameKind::credit:
      return body.empty() ? Result<void>() : wrong("credit with a body");
    case FrameKind::bye:
      bye_taken_ = true;
      end({Status::peer_down, "the peer closed the link"}, false);
      return {};
  }
  return wrong("frame.kind is " + std::to_string(static_cast<unsigned>(kind)) + ", which this engine does not know");
}

VerbsLanding* VerbsLink::landing_at(std::uint32_t slot, std::uint64_t serial) {
  if (slot >= landings_.size() || landings_[slot].serial != serial) return nullptr;
  VerbsLanding& landing = landings_[slot];
  const bool is_open = landing.state == VerbsLanding::State::granted || landing.state == VerbsLanding::State::revoking;
  return is_open ? &landing : nullptr;
}

Result<void> VerbsLink::take_delivery(std::span<const std::byte> body, bool is_whole) {
  if (body.size() < sizeof(DeliveryHead)) return wrong("delivery without a head");
  const auto head = read<DeliveryHead>(body);
  const auto payload = body.subspan(sizeof(head));
  VerbsLanding* landing = landing_at(head.slot, head.serial);
  if (landing == nullptr) return wrong("delivery.slot " + std::to_string(head.slot) + " is not open to the peer");
  if (head.bytes > landing->destination.size() || head.header_length > kMaxHeader || head.reserved != 0) {
    return wrong("delivery.bytes " + std::to_string(head.bytes) + " or delivery.header_length is too large");
  }
  if (payload.size() != (is_whole ? head.bytes : 0)) return wrong("delivery.bytes does not fit its payload");
  landing->state = VerbsLanding::State::receiving;
  landing->bytes = head.bytes;
  landing->header_length = head.header_length;
  landing->header = head.header;
  if (!is_whole) return {};
  if (!payload.empty()) std::memcpy(landing->destination.data(), payload.data(), payload.size());
  end_landing(head.slot, Status::ok);
  return {};
}

Result<void> VerbsLink::take_immediate(std::uint32_t slot) {
  if (slot >= landings_.size() || landings_[slot].state != VerbsLanding::State::receiving) {
    return wrong("immediate " + std::to_string(slot) + " names no landing that a delivery has begun on");
  }
  end_landing(slot, Status::ok);
  return {};
}

// A delivery that has begun, or has been, ends the landing itself.
Result<void> VerbsLink::take_revoke(const LandingName& name) {
  if (name.slot >= grants_.size() || !grants_[name.slot] || grants_[name.slot]->serial != name.serial) return {};
  if (outgoing_.size() >= kMaxLandings) return wrong("revokes come faster than the peer takes their answers");
  grants_[name.slot].reset();
  enqueue(FrameKind::revoked, std::as_bytes(std::span(&name, 1)));
  return {};
}

Result<void> VerbsLink::take_revoked(const LandingName& name) {
  const VerbsLanding* landing = landing_at(name.slot, name.serial);
  if (landing == nullptr || landing->state != VerbsLanding::State::revoking) {
    return wrong("revoked.slot " + std::to_string(name.slot) + " was not to be revoked");
  }
  end_landing(name.slot, Status::cancelled);
  return {};
}

void VerbsLink::end_landing(std::uint32_t slot, Status status) {
  VerbsLanding& landing = landings_[slot];
  const VerbsLanding ended = landing;
  landing.state = VerbsLanding::State::free;
  free_landings_.push_back(slot);
  const bool is_good = status == Status::ok;
  if (observer_ == nullptr) return;
  observer_->on_landed(*this, ended.id,
                       std::span<const std::byte>(ended.header).first(is_good ? ended.header_length : 0),
                       is_good ? ended.bytes : 0, status);
}

}  // namespace rde
