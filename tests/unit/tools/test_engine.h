// A small engine inside the test: attaches clients, answers NOP and PING, and serves objects from memory.
//
//   TestEngine engine;
//   engine.add("3,01637037d6", bytes);
//   engine.start();
//   Client::attach({.socket = engine.socket()});
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attach/listener.h"
#include "attach/server.h"
#include "ring/doorbell.h"
#include "ring/ring.h"
#include "seaweed/file_id.h"

namespace rde::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class TestEngine final : public AttachHost {
 public:
  explicit TestEngine(std::string socket) : socket_(std::move(socket)) {}
  ~TestEngine() { stop(); }

  // Before start().
  void add(const std::string& file_id, std::vector<std::byte> bytes);
  // Every answer to a read has its first byte changed.
  bool corrupt_reads = false;
  // Nothing is answered.
  bool deaf = false;
  // Once, after this many answers, it stands still for a while.
  std::uint64_t pause_after = 0;
  std::chrono::milliseconds pause{0};
  // Answer to each NOP.
  Status nop_status = Status::ok;

  void start();
  void stop();
  [[nodiscard]] const std::string& socket() const { return socket_; }
  // Requests answered so far. Any thread.
  [[nodiscard]] std::uint64_t answered() const { return answered_; }

 private:
  struct Served {
    AttachOffer offer;
    std::unique_ptr<Ringer> ringer;
    std::vector<RingReader<rde_request>> requests;
    std::vector<RingWriter<rde_completion>> completions;
  };

  std::variant<AttachOffer, Refusal> offer(const rde_attach_hello& hello, const prim::PeerIdentity& who) override;
  std::vector<rde_attach_client> list(const prim::PeerIdentity& who) override;
  std::variant<int, Refusal> monitor(std::uint64_t client_number, const prim::PeerIdentity& who) override;
  void attached(AttachOffer offer) override;

  void run();
  void look_at_sockets();
  bool serve(Served& client);
  rde_completion answer(const SegmentView& view, const rde_request& request) const;
  rde_completion answer_object(const SegmentView& view, const rde_request& request) const;

  std::string socket_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>, std::vector<std::byte>> objects_;
  std::optional<AttachListener> listener_;
  std::vector<std::unique_ptr<AttachConnection>> connections_;
  std::map<std::uint64_t, Served> clients_;
  std::deque<Descriptor> events_;
  std::uint64_t next_number_ = 1;
  std::atomic<std::uint64_t> answered_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rde::test
