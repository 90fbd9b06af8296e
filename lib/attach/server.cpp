#include "attach/server.h"

#include <array>

namespace rde {

bool AttachConnection::on_readable() {
  std::array<std::byte, 512> buffer;
  auto received = prim::receive(socket_.get(), buffer);
  if (!received) {
    if (prim::would_block(received.error())) return true;
    reason_ = received.error().text;
    return false;
  }
  if (received->bytes == 0) return false;
  const std::span<const std::byte> message(buffer.data(), received->bytes);
  switch (state_) {
    case State::hello:
      return on_hello(message);
    case State::mapped:
      return on_mapped(message);
    case State::attached:
      reason_ = "the client sent a message after it was attached";
      return false;
  }
  return false;
}

bool AttachConnection::on_hello(std::span<const std::byte> message) {
  const auto who = prim::peer_identity(socket_.get());
  if (!who) return refuse({Status::permission_denied, "socket", who.error().text});
  const auto checked = check_hello(message);
  if (!checked.ok) return refuse(checked.refusal);
  if (checked.hello.role == RDE_ROLE_LIST) return answer_list(*who);
  if (checked.hello.role == RDE_ROLE_MONITOR) return answer_monitor(checked.hello.target, *who);
  auto offer = host_.offer(checked.hello, *who);
  if (const auto* refusal = std::get_if<Refusal>(&offer)) return refuse(*refusal);
  return welcome(std::move(std::get<AttachOffer>(offer)));
}

bool AttachConnection::welcome(AttachOffer offer) {
  const auto& header = offer.segment->view().header();
  std::vector<int> descriptors{offer.segment->file(), offer.wake.sleeper.get()};
  descriptors.insert(descriptors.end(), offer.shard_events.begin(), offer.shard_events.end());
  auto message = make_message<rde_attach_welcome>(RDE_ATTACH_TYPE_WELCOME);
  message.layout_hash = RDE_LAYOUT_HASH;
  message.abi_major = RDE_ABI_MAJOR;
  message.abi_minor = RDE_ABI_MINOR;
  message.descriptors = static_cast<std::uint32_t>(descriptors.size());
  message.total_size = header.total_size;
  message.epoch = header.epoch;
  message.client_number = header.client_number;
  put_text(message.version, offer.version);
  if (auto sent = prim::send(socket_.get(), bytes_of(message), descriptors); !sent) {
    reason_ = sent.error().text;
    return false;
  }
  client_number_ = header.client_number;
  offer.wake.sleeper.reset();
  offer_ = std::move(offer);
  state_ = State::mapped;
  return true;
}

bool AttachConnection::on_mapped(std::span<const std::byte> message) {
  rde_attach_signal mapped{};
  if (type_of(message) != RDE_ATTACH_TYPE_MAPPED || !copy_message(message, mapped)) {
    return refuse({Status::invalid_request, "type", "expected MAPPED"});
  }
  if (mapped.reserved != 0) return refuse({Status::reserved_not_zero, "reserved", "a reserved field must be zero"});
  if (auto hardened = offer_.segment->harden(); !hardened) {
    return refuse({hardened.error().status, "segment", hardened.error().text});
  }
  // The client polls nothing before ATTACHED, so the engine may publish first and then take it in.
  offer_.segment->publish();
  host_.attached(std::move(offer_));
  state_ = State::attached;
  const auto attached = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_ATTACHED);
  if (auto sent = prim::send(socket_.get(), bytes_of(attached)); !sent) {
    reason_ = sent.error().text;
    return false;
  }
  return true;
}

bool AttachConnection::answer_list(const prim::PeerIdentity& who) {
  constexpr std::size_t kRoomOfMessage = 1024;  // with what the kernel adds
  const auto clients = host_.list(who);
  prim::reserve_send_room(socket_.get(), (clients.size() + 1) * kRoomOfMessage);
  for (const auto& info : clients) {
    // Where the kernel gives no such room, a lister that does not read loses the rest of the list, not our time.
    if (!prim::send(socket_.get(), bytes_of(info))) return false;
  }
  const auto end = make_message<rde_attach_signal>(RDE_ATTACH_TYPE_LIST_END);
  (void)prim::send(socket_.get(), bytes_of(end));
  return false;
}

bool AttachConnection::answer_monitor(std::uint64_t target, const prim::PeerIdentity& who) {
  const auto found = host_.monitor(target, who);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return refuse(*refusal);
  const std::array descriptors{std::get<int>(found)};
  auto message = make_message<rde_attach_welcome>(RDE_ATTACH_TYPE_WELCOME);
  message.layout_hash = RDE_LAYOUT_HASH;
  message.abi_major = RDE_ABI_MAJOR;
  message.abi_minor = RDE_ABI_MINOR;
  message.descriptors = 1;
  message.client_number = target;
  (void)prim::send(socket_.get(), bytes_of(message), descriptors);
  return false;
}

bool AttachConnection::refuse(const Refusal& refusal) {
  (void)prim::send(socket_.get(), bytes_of(make_refused(refusal)));
  reason_ = refusal.field + ": " + refusal.text;
  return false;
}

}  // namespace rde
