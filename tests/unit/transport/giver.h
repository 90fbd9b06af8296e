// The owner's side in another process: delivers what it is asked for, and echoes the rest.
#pragma once

#include "ends.h"
#include "tcp_peer.h"

namespace rde::test {

struct Giver final : LinkObserver, LinkAcceptor {
  Memory* memory = nullptr;
  virtual ~Giver() = default;
  void on_up(Link& /*link*/) override {}
  void on_message(Link& link, std::span<const std::byte> message) override {
    Ask ask;
    if (message.size() != sizeof(ask)) {
      link.send(message);
      return;
    }
    std::memcpy(&ask, message.data(), sizeof(ask));
    link.deliver(ask.id, ask.key, bytes_of("given"), memory->bytes().first(ask.key.length), *memory, nullptr);
  }
  void on_landed(Link& /*link*/, std::uint64_t /*id*/, std::span<const std::byte> /*header*/, std::uint32_t /*bytes*/,
                 Status /*status*/) override {}
  void on_delivered(Link& /*link*/, void* /*context*/, Status /*status*/) override {}
  void on_down(Link& /*link*/, const Error& /*why*/) override {}
  LinkObserver* on_accept(Link& /*link*/) override { return this; }
};

}  // namespace rde::test
