// An engine that does what a test tells it, to one client, on a thread of its own.
//
//   HostileEngine engine(path, [](HostileEngine& self) { self.hear(); self.welcome(); });
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attach/hello.h"
#include "attach/listener.h"
#include "prim/memory.h"
#include "prim/socket.h"
#include "segment/segment.h"

namespace rde::test {

class HostileEngine {
 public:
  using Script = std::function<void(HostileEngine&)>;

  HostileEngine(const std::string& path, Script script) {
    auto listener = AttachListener::open({.path = path, .mode = 0600, .group = std::nullopt});
    REQUIRE_MESSAGE(listener, listener.error().text);
    listener_ = std::make_unique<AttachListener>(std::move(*listener));
    SegmentOptions options;
    options.plan.total_size = RDE_MIN_SEGMENT;
    options.hugepages = HugepageMode::off;
    auto segment = Segment::create(options);
    REQUIRE_MESSAGE(segment, segment.error().text);
    segment_ = std::move(*segment);
    null_ = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    thread_ = std::thread([this, script = std::move(script)] {
      (void)prim::wait_readable(listener_->descriptor(), 30'000);
      socket_ = listener_->accept();
      script(*this);
      socket_.reset();
    });
  }
  ~HostileEngine() { thread_.join(); }
  HostileEngine(const HostileEngine&) = delete;
  HostileEngine& operator=(const HostileEngine&) = delete;

  Segment& segment() { return *segment_; }
  void use_file(Descriptor file) { file_ = std::move(file); }
  // Of the right size, without seals.
  void use_loose_file() {
    auto file = prim::make_memory_file("rde-segment", false);
    REQUIRE(file);
    REQUIRE(::ftruncate(file->get(), RDE_MIN_SEGMENT) == 0);
    use_file(std::move(*file));
  }

  // Takes the client's next message.
  void hear() {
    std::byte buffer[512];
    (void)prim::wait_readable(socket_.get(), 30'000);
    (void)prim::receive(socket_.get(), buffer);
  }
  void wait_for_close() {
    for (;;) {
      std::byte buffer[512];
      (void)prim::wait_readable(socket_.get(), 30'000);
      const auto received = prim::receive(socket_.get(), buffer);
      if (!received || received->bytes == 0) return;
    }
  }

  // False when the client is gone; waits where its socket is full.
  bool say_bytes(std::span<const std::byte> message, std::span<const int> descriptors = {}) {
    for (;;) {
      if (prim::send(socket_.get(), message, descriptors)) return true;
      pollfd entry{socket_.get(), POLLOUT, 0};
      if (::poll(&entry, 1, 30'000) != 1 || (entry.revents & (POLLHUP | POLLERR)) != 0) return false;
    }
  }
  template <class Message>
  bool say(const Message& message) {
    return say_bytes(bytes_of(message));
  }
  void welcome() {
    say_welcome([](rde_attach_welcome&) {}, 3);
  }
  // A good welcome, changed, with this many descriptors.
  void say_welcome(const std::function<void(rde_attach_welcome&)>& change, std::size_t descriptors) {
    auto message = make_message<rde_attach_welcome>(RDE_ATTACH_TYPE_WELCOME);
    message.layout_hash = RDE_LAYOUT_HASH;
    message.descriptors = 3;
    message.total_size = RDE_MIN_SEGMENT;
    change(message);
    std::vector<int> sent{file_ ? file_.get() : segment_->file()};
    sent.resize(descriptors, null_.get());
    say_bytes(bytes_of(message), sent);
  }
  void say_attached() { say(make_message<rde_attach_signal>(RDE_ATTACH_TYPE_ATTACHED)); }

 private:
  std::unique_ptr<AttachListener> listener_;
  std::unique_ptr<Segment> segment_;
  Descriptor file_;
  Descriptor null_;
  Descriptor socket_;
  std::thread thread_;
};

}  // namespace rde::test
