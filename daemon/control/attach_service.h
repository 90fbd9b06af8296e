// Who may attach, what each client gets, and when it is gone. Runs on the control thread.
//
//   AttachService attach(config, epoch, loop, shards);
//   if (auto started = attach.start(); !started) return started;
//   while (serving) {
//     loop.run_once(1000);
//     attach.tick();
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/listener.h"
#include "attach/server.h"
#include "config/config.h"
#include "control/event_loop.h"
#include "shard/shard.h"

namespace rde {

class AttachService final : public AttachHost {
 public:
  // `loop` and `shards` outlive the service. `epoch` tells this life of the engine from every other.
  AttachService(const Config& config, std::uint64_t epoch, EventLoop& loop,
                std::vector<std::unique_ptr<Shard>>& shards);
  ~AttachService();

  // Opens the socket and starts to accept.
  Result<void> start();
  // Accepts nothing more; attached clients stay.
  void refuse_new();
  // Closes handshakes that take too long. Call about once a second.
  void tick();
  // The lists of users, from a configuration that was read again.
  void reload(const Config& config);

  [[nodiscard]] std::size_t attached() const;

  // AttachHost.
  std::variant<AttachOffer, Refusal> offer(const rde_attach_hello& hello, const prim::PeerIdentity& who) override;
  std::vector<rde_attach_client> list(const prim::PeerIdentity& who) override;
  std::variant<int, Refusal> monitor(std::uint64_t client_number, const prim::PeerIdentity& who) override;
  void attached(AttachOffer offer) override;

 private:
  // From the welcome until the shard has let go of the segment.
  struct Client {
    std::uint64_t number = 0;
    prim::PeerIdentity who;
    std::string name;
    std::shared_ptr<Segment> segment;
    std::shared_ptr<Descriptor> doorbell;
    Descriptor process;  // pidfd
    Nanoseconds attached_ns = 0;
    std::uint64_t bytes = 0;
    bool in_shard = false;
  };
  struct Connection {
    std::unique_ptr<AttachConnection> attach;
    Nanoseconds since = 0;
    std::uint64_t client = 0;  // that was made for it, welcomed or not
  };

  void accept();
  void pause_accepting(int error_number);
  void forget_gone();
  [[nodiscard]] std::size_t handshakes() const;
  void close_oldest_handshake();
  void on_readable(int descriptor);
  void close(int descriptor, const std::string& reason);
  void detach(std::uint64_t number);
  void forget(std::uint64_t number);
  [[nodiscard]] bool may_attach(const prim::PeerIdentity& who) const;
  [[nodiscard]] static bool may_look(const prim::PeerIdentity& who, const Client& client);
  void watch_process(Client& client, int connection);
  Shard& shard_of(std::uint64_t number) { return *shards_[number % shards_.size()]; }

  Config config_;
  std::uint64_t epoch_;
  EventLoop& loop_;
  std::vector<std::unique_ptr<Shard>>& shards_;
  std::unique_ptr<AttachListener> listener_;
  bool told_of_shortage_ = false;
  bool listening_ = false;  // the loop watches the listener
  std::unordered_map<int, Connection> connections_;
  std::unordered_map<std::uint64_t, Client> clients_;
  std::uint64_t next_number_ = 1;
  std::uint64_t bytes_ = 0;
  std::uint64_t most_bytes_ = 0;
  int serving_ = -1;  // the connection whose handler runs

  // Numbers of clients that shards have let go of; filled by their threads.
  struct Gone;
  std::shared_ptr<Gone> gone_;
};

}  // namespace rde
