// An engine that attaches clients and does nothing else; on a thread of its own.
//
//   AttachServer server(folder.file("socket"));
//   auto attached = attach({.socket = server.socket()});
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "attach/listener.h"
#include "attach/server.h"

namespace rde::test {

// What AttachServer decides; also of use without its thread. `who` is the last identity seen.
class OpenHost final : public AttachHost {
 public:
  explicit OpenHost(std::uint32_t shards = 1) : shards_(shards) {}

  std::variant<AttachOffer, Refusal> offer(const rde_attach_hello& hello, const prim::PeerIdentity& identity) override {
    who = identity;
    SegmentOptions options;
    options.plan = {.total_size = hello.segment_size != 0 ? hello.segment_size : RDE_MIN_SEGMENT,
                    .channels = hello.channels != 0 ? hello.channels : 1,
                    .depth = hello.depth != 0 ? hello.depth : 8,
                    .shards = shards_,
                    .client_number = ++offers};
    options.hugepages = HugepageMode::off;
    options.epoch = 9;
    options.client_pid = static_cast<std::uint32_t>(identity.pid);
    auto segment = Segment::create(options);
    if (!segment) return Refusal{segment.error().status, "segment_size", segment.error().text};
    auto wake = prim::make_wake_pair();
    if (!wake) return Refusal{wake.error().status, "wake", wake.error().text};
    AttachOffer made{std::move(*segment), std::move(*wake), {}, "1.2.3"};
    for (std::uint32_t i = 0; i < shards_; ++i) {
      events.push_back(prim::make_event());
      made.shard_events.push_back((*events.back()).get());
    }
    return made;
  }
  std::vector<rde_attach_client> list(const prim::PeerIdentity&) override {
    std::vector<rde_attach_client> all;
    for (std::uint64_t number = 1; number <= listed; ++number) {
      auto info = make_message<rde_attach_client>(RDE_ATTACH_TYPE_CLIENT_INFO);
      info.client_number = number;
      put_text(info.name, "client " + std::to_string(number));
      all.push_back(info);
    }
    return all;
  }
  std::variant<int, Refusal> monitor(std::uint64_t number, const prim::PeerIdentity&) override {
    for (const auto& client : clients) {
      if (client.segment->view().header().client_number == number) return client.segment->file();
    }
    return Refusal{Status::attach_refused, "target", "no such client"};
  }
  void attached(AttachOffer made) override { clients.push_back(std::move(made)); }

  prim::PeerIdentity who;
  std::uint64_t offers = 0;
  std::uint64_t listed = 0;
  std::vector<Result<Descriptor>> events;
  std::vector<AttachOffer> clients;

 private:
  std::uint32_t shards_;
};

class AttachServer {
 public:
  explicit AttachServer(const std::string& socket, std::uint32_t shards = 1) : host_(shards), socket_(socket) {
    auto listener = AttachListener::open({.path = socket, .mode = 0600, .group = std::nullopt});
    REQUIRE_MESSAGE(listener, listener.error().text);
    listener_ = std::make_unique<AttachListener>(std::move(*listener));
    thread_ = std::thread([this] { run(); });
  }
  ~AttachServer() { stop(); }
  AttachServer(const AttachServer&) = delete;
  AttachServer& operator=(const AttachServer&) = delete;

  [[nodiscard]] const std::string& socket() const { return socket_; }
  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    connections_.clear();
    listener_.reset();
  }
  // The host, on no other thread meanwhile.
  void with_host(const std::function<void(OpenHost&)>& use) {
    const std::lock_guard lock(mutex_);
    use(host_);
  }

 private:
  void run() {
    while (!stop_) {
      (void)prim::wait_readable(listener_->descriptor(), 1);
      const std::lock_guard lock(mutex_);
      while (Descriptor socket = listener_->accept()) {
        connections_.push_back(std::make_unique<AttachConnection>(std::move(socket), host_));
      }
      std::erase_if(connections_, [](const auto& connection) {
        const auto readable = prim::wait_readable(connection->descriptor(), 0);
        return readable && *readable && !connection->on_readable();
      });
    }
  }

  std::mutex mutex_;
  OpenHost host_;
  std::string socket_;
  std::unique_ptr<AttachListener> listener_;
  std::vector<std::unique_ptr<AttachConnection>> connections_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rde::test
