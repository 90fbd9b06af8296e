// What a link is asked for: messages, landings, deliveries. They queue here; verbs_link_emit.cpp posts them.
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/owned_memory.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

Status VerbsLink::send(std::span<const std::byte> message) {
  if (message.empty() || message.size() > kMaxMessage) return Status::invalid_request;
  if (state_ != State::up) return Status::peer_down;
  if (outgoing_.size() >= kMaxBacklog) return Status::peer_busy;
  enqueue(FrameKind::message, message);
  return Status::ok;
}

// The landings that were posted meanwhile go in front of the body.
void VerbsLink::enqueue(FrameKind kind, std::span<const std::byte> body) {
  transport_.mark_dirty(*this);
  while (ungranted_.size() > kMaxGrantsInFrame && kind != FrameKind::credit) enqueue(FrameKind::credit, {});
  std::array<std::byte, kFrameBytes> frame;
  const std::size_t count = std::min(ungranted_.size(), kMaxGrantsInFrame);
  const FrameHead head{.kind = kind,
                       .reserved = 0,
                       .grants = static_cast<std::uint16_t>(count),
                       .credits = 0,
                       .length = static_cast<std::uint16_t>(body.size())};
  std::memcpy(frame.data(), &head, sizeof(head));
  std::size_t size = sizeof(head);
  for (std::size_t i = 0; i < count; ++i, size += sizeof(VerbsGrant)) {
    std::memcpy(frame.data() + size, &ungranted_[i], sizeof(VerbsGrant));
    landings_[ungranted_[i].slot].state = VerbsLanding::State::granted;
  }
  ungranted_.erase(ungranted_.begin(), ungranted_.begin() + static_cast<std::ptrdiff_t>(count));
  if (!body.empty()) std::memcpy(frame.data() + size, body.data(), body.size());
  const auto whole = std::span<const std::byte>(frame).first(size + body.size());
  if (outgoing_.empty() && emit_frame(whole, false)) return;
  outgoing_.push_back({.delivery = nullptr, .frame = {whole.begin(), whole.end()}});
}

Result<LandingKey> VerbsLink::post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) {
  if (state_ != State::up) return Error{Status::peer_down, "landing: the link to " + remote_.text() + " is not up"};
  if (!lies_in(memory.bytes(), destination) || destination.size() > UINT32_MAX) {
    return Error{Status::buffer_out_of_range, "landing: the destination of " + std::to_string(destination.size()) +
                                                  " bytes does not lie in the memory"};
  }
  const auto registration = domain_->for_landings(memory);
  if (!registration) return registration.error().in("landing");
  if (free_landings_.empty()) {
    if (landings_.size() >= kMaxLandings) {
      return Error{Status::peer_busy, "landing: " + std::to_string(kMaxLandings) + " are open, the limit"};
    }
    free_landings_.push_back(static_cast<std::uint32_t>(landings_.size()));
    landings_.emplace_back();
  }
  const std::uint32_t slot = free_landings_.back();
  free_landings_.pop_back();
  const auto length = static_cast<std::uint32_t>(destination.size());
  landings_[slot] = {
      .id = id, .serial = next_serial_++, .destination = destination, .state = VerbsLanding::State::named};
  ungranted_.push_back({.serial = landings_[slot].serial,
                        .address = reinterpret_cast<std::uintptr_t>(destination.data()),
                        .rkey = (*registration)->rkey,
                        .length = length,
                        .slot = slot,
                        .reserved = 0});
  transport_.mark_dirty(*this);
  return LandingKey{landings_[slot].serial, slot, length};
}

bool VerbsLink::withdraw_landing(std::uint64_t id) {
  const auto it = std::ranges::find_if(landings_, [&](const VerbsLanding& landing) {
    return landing.id == id && landing.state != VerbsLanding::State::free;
  });
  if (it == landings_.end() || state_ != State::up) return false;
  const auto slot = static_cast<std::uint32_t>(it - landings_.begin());
  if (it->state == VerbsLanding::State::named) {
    std::erase_if(ungranted_, [&](const VerbsGrant& grant) { return grant.slot == slot; });
    it->state = VerbsLanding::State::free;
    free_landings_.push_back(slot);
    return true;
  }
  if (it->state == VerbsLanding::State::granted) {
    it->state = VerbsLanding::State::revoking;
    const LandingName name{.serial = it->serial, .slot = slot, .reserved = 0};
    enqueue(FrameKind::revoke, std::as_bytes(std::span(&name, 1)));
  }
  return false;
}

Status VerbsLink::deliver(std::uint64_t /*id*/, const LandingKey& key, std::span<const std::byte> header,
                          std::span<const std::byte> payload, Memory& memory, void* context) {
  if (header.size() > kMaxHeader || payload.size() > UINT32_MAX) return Status::invalid_request;
  if (!lies_in(memory.bytes(), payload)) return Status::buffer_out_of_range;
  if (state_ != State::up) return Status::peer_down;
  std::optional<VerbsGrant>* grant = key.key < grants_.size() ? &grants_[key.key] : nullptr;
  if (grant == nullptr || !*grant || (*grant)->serial != key.address || payload.size() > (*grant)->length) {
    transport_.defer({this, context, Status::cancelled});  // withdrawn, used before, or never granted
    return Status::ok;
  }
  std::uint32_t local_key = 0;
  if (payload.size() > kEagerPayload) {
    const auto registration = domain_->for_payloads(memory);
    if (!registration) return registration.error().status;
    local_key = (*registration)->lkey;
  }
  if (free_deliveries_ == nullptr) free_deliveries_ = &deliveries_.emplace_back();
  VerbsDelivery& delivery = *std::exchange(free_deliveries_, free_deliveries_->next);
  delivery = {.is_free = false, .context = context, .grant = **grant, .payload = payload, .key = local_key};
  grant->reset();
  ++delivering_;
  ++transport_.delivering_;
  delivery.head = {.serial = delivery.grant.serial,
                   .slot = delivery.grant.slot,
                   .bytes = static_cast<std::uint32_t>(payload.size()),
                   .header_length = static_cast<std::uint32_t>(header.size()),
                   .reserved = 0,
                   .header = {}};
  std::ranges::copy(header, delivery.head.header.begin());
  outgoing_.push_back({.delivery = &delivery, .frame = {}});
  transport_.mark_dirty(*this);
  return Status::ok;
}

}  // namespace rde
