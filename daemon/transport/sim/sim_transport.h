// A Transport on a SimFabric; see sim_fabric.h. Same thread as the fabric.
#pragma once

#include <map>
#include <memory>

#include "transport/owned_memory.h"
#include "transport/sim/sim_fabric.h"
#include "transport/sim/sim_link.h"

namespace rde {

class SimTransport final : public Transport {
 public:
  // `from` is the address that listeners see as the remote of its links; its port is not looked at.
  explicit SimTransport(SimFabric& fabric, const SocketAddress& from = loopback());
  ~SimTransport() override;
  SimTransport(const SimTransport&) = delete;
  SimTransport& operator=(const SimTransport&) = delete;

  [[nodiscard]] std::string_view name() const override { return "sim"; }
  [[nodiscard]] std::string device() const override { return "sim"; }
  [[nodiscard]] bool is_rdma() const override { return false; }

  // An address can be listened on once (invalid_address).
  Result<SocketAddress> listen(const SocketAddress& where, LinkAcceptor& acceptor) override;
  Result<Link*> connect(const SocketAddress& where, LinkObserver& observer) override;
  Result<Memory*> add_memory(std::span<std::byte> bytes) override;
  void remove_memory(Memory* memory) override { memories_.remove(memory); }

  unsigned progress(Nanoseconds now) override;
  [[nodiscard]] bool busy() const override;
  [[nodiscard]] Nanoseconds next_timer() const override;
  [[nodiscard]] int event_descriptor() const override { return -1; }
  bool arm() override { return inbox_.empty(); }

  static SocketAddress loopback();

 private:
  friend class SimFabric;
  friend class SimLink;

  void post(Nanoseconds at, SimPacket packet) { inbox_.emplace(at, std::move(packet)); }
  void handle(SimPacket& packet);
  void accept(SimPacket& packet);
  void end_links(const SimTransport* with, const Error& why);
  SimLink* find(std::uint64_t id);

  SimFabric& fabric_;
  SocketAddress from_;
  bool frozen_ = false;
  bool dead_ = false;
  LinkAcceptor* acceptor_ = nullptr;
  SocketAddress listening_;
  std::multimap<Nanoseconds, SimPacket> inbox_;  // equal times stay in the order of sending
  std::map<std::uint64_t, std::unique_ptr<SimLink>> links_;
  MemoryList<PlainMemory> memories_;
};

}  // namespace rde
