#include "transport/sim/sim_link.h"

#include <algorithm>
#include <cstring>

#include "transport/owned_memory.h"
#include "transport/sim/sim_transport.h"

namespace rde {

Nanoseconds SimLink::arrival(Nanoseconds delay) {
  last_arrival_ = std::max(last_arrival_, transport_.fabric_.now() + delay);
  return last_arrival_;
}

void SimLink::to_peer(Nanoseconds at, SimPacket packet) {
  if (peer_ == nullptr) return;
  packet.link = peer_link_;
  peer_->post(at, std::move(packet));
}

void SimLink::to_self(SimPacket packet) {
  packet.link = id_;
  transport_.post(transport_.fabric_.now(), std::move(packet));
}

Status SimLink::send(std::span<const std::byte> message) {
  if (message.empty() || message.size() > kMaxMessage) return Status::invalid_request;
  if (state_ != State::up) return Status::peer_down;
  if (messages_ >= kMaxBacklog) return Status::peer_busy;
  ++messages_;
  to_peer(arrival(transport_.fabric_.pace_.latency),
          {.what = SimPacket::What::message, .bytes = {message.begin(), message.end()}});
  return Status::ok;
}

Result<LandingKey> SimLink::post_landing(std::uint64_t id, std::span<std::byte> destination, Memory& memory) {
  if (state_ != State::up) return Error{Status::peer_down, "landing: the link is not up"};
  if (!lies_in(memory.bytes(), destination) || destination.size() > UINT32_MAX) {
    return Error{Status::buffer_out_of_range, "landing: the destination does not lie in the memory"};
  }
  landings_.push_back({id, next_serial_++, destination, false});
  return LandingKey{landings_.back().serial, 0, static_cast<std::uint32_t>(destination.size())};
}

std::optional<SimLink::Landing> SimLink::take_landing(std::uint64_t id) {
  const auto it = std::ranges::find(landings_, id, &Landing::id);
  if (it == landings_.end()) return std::nullopt;
  const auto landing = *it;
  landings_.erase(it);
  return landing;
}

bool SimLink::withdraw_landing(std::uint64_t id) {
  const auto it = std::ranges::find(landings_, id, &Landing::id);
  if (it == landings_.end() || it->receiving || state_ != State::up) return false;
  landings_.erase(it);
  return true;
}

Status SimLink::deliver(std::uint64_t id, const LandingKey& key, std::span<const std::byte> header,
                        std::span<const std::byte> payload, Memory& memory, void* context) {
  if (header.size() > kMaxHeader || payload.size() > UINT32_MAX) return Status::invalid_request;
  if (!lies_in(memory.bytes(), payload)) return Status::buffer_out_of_range;
  if (state_ != State::up) return Status::peer_down;
  const auto& pace = transport_.fabric_.pace_;
  const auto now = transport_.fabric_.now();
  const Nanoseconds duration = pace.bytes_per_second == 0 ? 0 : payload.size() * kSecond / pace.bytes_per_second;
  const Nanoseconds begin = std::max(now, line_free_);
  line_free_ = begin + duration;
  const std::uint64_t serial = next_serial_++;
  deliveries_.push_back({serial, context});
  SimPacket packet{.what = SimPacket::What::transfer_begin,
                   .id = id,
                   .serial = serial,
                   .key = key,
                   .bytes = {header.begin(), header.end()},
                   .payload = payload,
                   .duration = duration};
  to_peer(begin + pace.latency, std::move(packet));
  return Status::ok;
}

void SimLink::handle_begin(SimPacket& packet) {
  const auto it = std::ranges::find(landings_, packet.id, &Landing::id);
  const bool wanted = state_ == State::up && it != landings_.end() && it->serial == packet.key.address &&
                      !it->receiving && packet.payload.size() <= it->destination.size();
  if (!wanted) {
    to_peer(transport_.fabric_.now() + transport_.fabric_.pace_.latency,
            {.what = SimPacket::What::delivered, .serial = packet.serial, .why = {Status::cancelled, {}}});
    return;
  }
  it->receiving = true;
  packet.what = SimPacket::What::transfer_end;
  const Nanoseconds arrives = transport_.fabric_.now() + packet.duration + transport_.fabric_.hold_;
  transport_.post(arrives, std::move(packet));
}

void SimLink::handle_end(SimPacket& packet) {
  const auto landing = take_landing(packet.id);
  if (!landing) return;
  if (!packet.payload.empty()) std::memcpy(landing->destination.data(), packet.payload.data(), packet.payload.size());
  to_peer(transport_.fabric_.now() + transport_.fabric_.pace_.latency,
          {.what = SimPacket::What::delivered, .serial = packet.serial});
  observer_->on_landed(*this, packet.id, packet.bytes, static_cast<std::uint32_t>(packet.payload.size()), Status::ok);
}

void SimLink::handle(SimPacket& packet) {
  switch (packet.what) {
    case SimPacket::What::up:
      peer_ = packet.from;
      peer_link_ = packet.id;
      if (state_ == State::ending) {
        to_peer(arrival(transport_.fabric_.pace_.latency), {.what = SimPacket::What::closed, .why = why_});
        return;
      }
      state_ = State::up;
      observer_->on_up(*this);
      return;
    case SimPacket::What::message:
      if (SimLink* sender = peer_ == nullptr ? nullptr : peer_->find(peer_link_)) --sender->messages_;
      if (state_ == State::up) observer_->on_message(*this, packet.bytes);
      return;
    case SimPacket::What::transfer_begin:
      handle_begin(packet);
      return;
    case SimPacket::What::transfer_end:
      handle_end(packet);
      return;
    case SimPacket::What::delivered: {
      const auto it = std::ranges::find(deliveries_, packet.serial, &Delivery::serial);
      if (it == deliveries_.end()) return;
      void* context = it->context;
      deliveries_.erase(it);
      observer_->on_delivered(*this, context, packet.why.status);
      return;
    }
    case SimPacket::What::landing_failed:
      if (take_landing(packet.id)) observer_->on_landed(*this, packet.id, {}, 0, Status::peer_down);
      return;
    case SimPacket::What::closed:
      end(packet.why, false);
      return;
    case SimPacket::What::connect_timeout:
      if (state_ == State::connecting) {
        end({Status::peer_unreachable, remote_.text() + " did not answer before the connect timeout"}, false);
      }
      return;
    case SimPacket::What::connect:
    case SimPacket::What::check:
      return;
  }
}

void SimLink::end(const Error& why, bool broken) {
  if (state_ == State::ending) return;
  state_ = State::ending;
  why_ = why;
  const auto now = transport_.fabric_.now();
  const auto& pace = transport_.fabric_.pace_;
  // What this end was still giving is taken back: its payload goes away with this process or link.
  if (peer_ != nullptr) {
    std::vector<std::uint64_t> begun;
    std::erase_if(peer_->inbox_, [&](const auto& entry) {
      const SimPacket& packet = entry.second;
      if (packet.link != peer_link_) return false;
      if (packet.what == SimPacket::What::transfer_end) begun.push_back(packet.id);
      return packet.what == SimPacket::What::transfer_end || packet.what == SimPacket::What::transfer_begin ||
             (broken && packet.what == SimPacket::What::message);
    });
    const Nanoseconds noticed = now + (broken ? pace.detection : pace.latency);
    for (const auto id : begun) to_peer(noticed, {.what = SimPacket::What::landing_failed, .id = id});
    to_peer(broken ? noticed : arrival(pace.latency),
            {.what = SimPacket::What::closed, .why = {Status::peer_down, "the peer closed the link"}});
  }
  for (const auto& delivery : deliveries_) {
    to_self({.what = SimPacket::What::delivered, .serial = delivery.serial, .why = {Status::peer_down, {}}});
  }
  for (const auto& landing : landings_) {
    if (!landing.receiving) to_self({.what = SimPacket::What::landing_failed, .id = landing.id});
  }
  to_self({.what = SimPacket::What::check});
}

}  // namespace rde
