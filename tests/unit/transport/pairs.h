// Two joined transports of each kind, for the suite that every kind must pass.
#pragma once

#include <doctest/doctest.h>

#include <memory>

#include "ends.h"
#include "transport/sim/sim_transport.h"
#if RDE_HAS_UCX
#include "transport/ucx/ucx_transport.h"
#endif
#ifdef RDE_ONLY_VERBS
#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"
#endif

namespace rde::test {

constexpr Nanoseconds kWatchdog = 30 * kSecond;

class SimPair {
 public:
  Transport& storage() { return storage_; }
  Transport& gateway() { return gateway_; }
  void step() {
    time_ += 2 * kMicrosecond;
    storage_.progress(time_);
    gateway_.progress(time_);
  }
  static SocketAddress any_port() { return *resolve({"127.0.0.1", 0}); }
  static SocketAddress nobody() { return *resolve({"127.0.0.1", 9}); }

 private:
  SimFabric fabric_;
  SimTransport storage_{fabric_};
  SimTransport gateway_{fabric_};
  Nanoseconds time_ = kSecond;
};

#if RDE_HAS_UCX
inline std::unique_ptr<UcxTransport> tcp_transport(Nanoseconds connect_timeout = 5 * kSecond) {
  auto transport = UcxTransport::create({.devices = {"lo"}, .connect_timeout = connect_timeout});
  REQUIRE_MESSAGE(transport, transport.error().text);
  return std::move(*transport);
}

class TcpPair {
 public:
  Transport& storage() { return *storage_; }
  Transport& gateway() { return *gateway_; }
  void step() {
    storage_->progress(now_ns());
    gateway_->progress(now_ns());
  }
  static SocketAddress any_port() { return *resolve({"127.0.0.1", 0}); }
  static SocketAddress nobody() { return *resolve({"127.0.0.1", 9}); }

 private:
  std::unique_ptr<UcxTransport> storage_ = tcp_transport();
  std::unique_ptr<UcxTransport> gateway_ = tcp_transport();
};
#endif

#ifdef RDE_ONLY_VERBS
inline std::unique_ptr<VerbsTransport> verbs_transport(Nanoseconds connect_timeout = 5 * kSecond) {
  auto transport = VerbsTransport::create({.device = {}, .connect_timeout = connect_timeout});
  REQUIRE_MESSAGE(transport, transport.error().text);
  return std::move(*transport);
}

class VerbsPair {
 public:
  Transport& storage() { return *storage_; }
  Transport& gateway() { return *gateway_; }
  void step() {
    storage_->progress(now_ns());
    gateway_->progress(now_ns());
  }
  // rdma_cm finds no device on loopback: an address of the first device.
  static SocketAddress any_port() { return verbs_addresses({}).at(0); }
  static SocketAddress nobody() {
    const std::string text = any_port().text();
    return *resolve({text.substr(0, text.rfind(':')), 9});
  }

 private:
  std::unique_ptr<VerbsTransport> storage_ = verbs_transport();
  std::unique_ptr<VerbsTransport> gateway_ = verbs_transport();
};
#endif

template <class Pair, class Condition>
void step_until(Pair& pair, Condition condition) {
  const Nanoseconds end = now_ns() + kWatchdog;
  while (!condition()) {
    REQUIRE_MESSAGE(now_ns() < end, "the watchdog ended a wait");
    pair.step();
  }
}

// A pair with one link up, and one registered arena on each side.
template <class Pair>
struct Joined {
  // The observers outlive the transports.
  Ends storage;
  Ends gateway;
  Arena storage_arena;
  Arena gateway_arena;
  Pair pair;
  Memory* storage_memory;
  Memory* gateway_memory;
  SocketAddress where;
  Link* to_storage = nullptr;
  Link* to_gateway = nullptr;

  explicit Joined(std::size_t arena = 2 << 20) : storage_arena(arena), gateway_arena(arena) {
    storage_memory = *pair.storage().add_memory(storage_arena.bytes());
    gateway_memory = *pair.gateway().add_memory(gateway_arena.bytes());
    auto listening = pair.storage().listen(Pair::any_port(), storage);
    REQUIRE_MESSAGE(listening, listening.error().text);
    where = *listening;
    to_storage = *pair.gateway().connect(where, gateway);
    until([&] { return gateway.up.size() == 1 && storage.up.size() == 1; });
    to_gateway = storage.up[0];
  }
  ~Joined() {
    pair.storage().remove_memory(storage_memory);
    pair.gateway().remove_memory(gateway_memory);
  }
  template <class Condition>
  void until(Condition condition) {
    step_until(pair, condition);
  }
  // The owner learns of a key from a message.
  void hand_over(const LandingKey& key) {
    const auto count = storage.messages.size();
    REQUIRE(to_storage->send(std::as_bytes(std::span(&key, 1))) == Status::ok);
    until([&] { return storage.messages.size() == count + 1; });
    storage.messages.pop_back();
  }
};

}  // namespace rde::test

TYPE_TO_STRING(rde::test::SimPair);
#if RDE_HAS_UCX
TYPE_TO_STRING(rde::test::TcpPair);
#endif
#ifdef RDE_ONLY_VERBS
TYPE_TO_STRING(rde::test::VerbsPair);
#endif
