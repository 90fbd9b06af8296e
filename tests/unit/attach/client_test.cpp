// The client against engines that lie, stall or go away.
#include "attach/client.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "attach/hello.h"
#include "attach/listener.h"
#include "hostile_engine.h"
#include "prim/memory.h"
#include "support/attach_server.h"
#include "support/leaks.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

// Attaches to an engine that follows a script; checks that a failure leaves nothing behind.
Error attach_to(const HostileEngine::Script& script, Nanoseconds timeout = 5 * kSecond) {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  const auto descriptors = open_descriptors();
  const auto mappings = mapped_segments();
  Error error;
  {
    HostileEngine engine(folder.file("socket"), script);
    const auto attached = attach({.socket = folder.file("socket"), .timeout = timeout});
    REQUIRE_FALSE(attached);
    error = attached.error();
  }
  CHECK(open_descriptors() == descriptors);
  CHECK(mapped_segments() == mappings);
  CHECK_FALSE(error.text.empty());
  return error;
}

}  // namespace

TEST_CASE("an attached client has what it asked for") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  AttachServer server(folder.file("socket"), 2);
  const auto descriptors = open_descriptors();
  {
    const auto attached =
        attach({.socket = server.socket(), .name = "me", .segment_size = 4 << 20, .channels = 3, .depth = 16});
    REQUIRE_MESSAGE(attached, attached.error().text);
    const auto& header = attached->view.header();
    CHECK(header.total_size == 4 << 20);
    CHECK(header.channel_count == 3);
    CHECK(header.depth == 16);
    CHECK(attached->doorbells.size() == 2);
    CHECK(attached->engine_version == "1.2.3");
    CHECK(attached->mapping.bytes().size() == 4 << 20);
    // Both sides see the same memory.
    attached->view.arena().front() = std::byte{0x5A};
    server.with_host(
        [](OpenHost& host) { CHECK(host.clients.at(0).segment->view().arena().front() == std::byte{0x5A}); });
    // The engine's wake arrives.
    server.with_host([](OpenHost& host) { prim::send_wake(host.clients.at(0).wake.ringer.get()); });
    const auto woken = prim::wait_readable(attached->wake.get(), 30'000);
    REQUIRE(woken);
    CHECK(*woken);
    // An engine that goes is seen on the socket.
    server.with_host([](OpenHost& host) {
      host.clients.clear();
      host.events.clear();
    });
    server.stop();
    const auto gone = prim::wait_readable(attached->socket.get(), 30'000);
    REQUIRE(gone);
    CHECK(*gone);
  }
  CHECK(open_descriptors() <= descriptors);
}

TEST_CASE("no engine at all is said so, with the path") {
  const TemporaryFolder folder;
  const auto attached = attach({.socket = folder.file("socket")});
  REQUIRE_FALSE(attached);
  CHECK(attached.error().status == Status::system_error);
  CHECK(attached.error().text.find(folder.file("socket")) != std::string::npos);
  CHECK_FALSE(attach({.socket = std::string(200, 'x')}));
  CHECK_FALSE(attach({.socket = ""}));
}

TEST_CASE("an engine that closes at any step is gone") {
  CHECK(attach_to([](HostileEngine&) {}).status == Status::engine_gone);
  CHECK(attach_to([](HostileEngine& engine) { engine.hear(); }).status == Status::engine_gone);
  CHECK(attach_to([](HostileEngine& engine) {
          engine.hear();
          engine.welcome();
          engine.hear();
        }).status == Status::engine_gone);
}

TEST_CASE("an engine that never answers, or never says ATTACHED, ends by the time-out") {
  CHECK(attach_to([](HostileEngine& engine) { engine.wait_for_close(); }, 50 * kMillisecond).status ==
        Status::segment_not_ready);
  CHECK(attach_to(
            [](HostileEngine& engine) {
              engine.hear();
              engine.welcome();
              engine.wait_for_close();
            },
            200 * kMillisecond)
            .status == Status::segment_not_ready);
}

TEST_CASE("a welcome with too few, too many or uncounted descriptors is refused") {
  for (const std::size_t sent : {0U, 1U, 2U, 4U, 31U}) {
    CAPTURE(sent);
    const auto error = attach_to([sent](HostileEngine& engine) {
      engine.hear();
      engine.say_welcome([](rde_attach_welcome&) {}, sent);
      engine.wait_for_close();
    });
    CHECK(error.status == Status::engine_broken);
    CHECK(error.text.find(std::to_string(sent) + " descriptors") != std::string::npos);
  }
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.say_welcome([](rde_attach_welcome& welcome) { welcome.descriptors = 9; }, 9);
    engine.hear();
    REQUIRE(engine.segment().harden());
    engine.segment().publish();
    engine.say_attached();
    engine.wait_for_close();
  });
  CHECK(error.text.find("doorbell") != std::string::npos);
}

TEST_CASE("a welcome that does not fit the file is refused") {
  using Change = std::function<void(rde_attach_welcome&)>;
  for (const Change& change : std::vector<Change>{
           [](rde_attach_welcome& welcome) { welcome.total_size -= 4096; },
           [](rde_attach_welcome& welcome) { welcome.total_size += 4096; },
           [](rde_attach_welcome& welcome) { welcome.total_size = 0; },
           [](rde_attach_welcome& welcome) { welcome.total_size = ~std::uint64_t{0}; },
           [](rde_attach_welcome& welcome) { welcome.layout_hash ^= 1; },
           [](rde_attach_welcome& welcome) { welcome.type = RDE_ATTACH_TYPE_ATTACHED; },
           [](rde_attach_welcome& welcome) { welcome.magic = 0; },
           [](rde_attach_welcome& welcome) { welcome.size -= 1; },
       }) {
    const auto error = attach_to([&](HostileEngine& engine) {
      engine.hear();
      engine.say_welcome(change, 3);
      engine.wait_for_close();
    });
    CHECK(error.status == Status::engine_broken);
  }
}

TEST_CASE("a file that its owner can still shrink is not mapped") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.use_loose_file();
    engine.welcome();
    engine.wait_for_close();
  });
  CHECK(error.status == Status::segment_invalid);
  CHECK(error.text.find("seals") != std::string::npos);
}

TEST_CASE("a descriptor that is no memory file is not mapped") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.use_file(Descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)));
    engine.welcome();
    engine.wait_for_close();
  });
  CHECK(error.status == Status::segment_invalid);
}

TEST_CASE("a segment that was not hardened is not used") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.welcome();
    engine.hear();
    engine.segment().publish();
    engine.say_attached();
    engine.wait_for_close();
  });
  CHECK(error.status == Status::segment_invalid);
}

TEST_CASE("an engine that says ATTACHED before the segment is ready is not believed") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.welcome();
    engine.hear();
    REQUIRE(engine.segment().harden());
    engine.say_attached();
    engine.wait_for_close();
  });
  CHECK(error.status == Status::segment_not_ready);
  CHECK(error.text.find("ready word is 0") != std::string::npos);
}

TEST_CASE("a header of garbage is refused") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.welcome();
    engine.hear();
    REQUIRE(engine.segment().harden());
    std::memset(engine.segment().bytes().data(), 0xA5, sizeof(rde_segment_header));
    engine.segment().publish();
    engine.say_attached();
    engine.wait_for_close();
  });
  CHECK(error.status == Status::segment_invalid);
  CHECK(error.text.find("magic") != std::string::npos);
}

TEST_CASE("a refusal is passed on with its status, field and text, cleaned") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.say(make_refused({Status::permission_denied, "uid", "no \x1B[31mway"}));
  });
  CHECK(error.status == Status::permission_denied);
  CHECK(error.text.find("uid: no [31mway") != std::string::npos);
}

TEST_CASE("a refusal with a status that this client does not know is still a refusal") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    auto refused = make_refused({Status::ok, "x", "y"});
    refused.status = 54321;
    engine.say(refused);
  });
  CHECK(error.status == Status::attach_refused);
}

TEST_CASE("a refusal can come instead of ATTACHED") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.welcome();
    engine.hear();
    engine.say(make_refused({Status::no_hugepages, "segment", "stolen"}));
  });
  CHECK(error.status == Status::no_hugepages);
}

TEST_CASE("a message that is longer than any known one is refused") {
  const auto error = attach_to([](HostileEngine& engine) {
    engine.hear();
    engine.say_bytes(std::vector<std::byte>(4000));
    engine.wait_for_close();
  });
  CHECK(error.status == Status::engine_broken);
}

TEST_CASE("a list without an end is given up") {
  const Watchdog watchdog(120);
  const TemporaryFolder folder;
  HostileEngine engine(folder.file("socket"), [](HostileEngine& self) {
    self.hear();
    const auto info = make_message<rde_attach_client>(RDE_ATTACH_TYPE_CLIENT_INFO);
    while (self.say(info)) {
    }
  });
  const auto clients = list_clients(folder.file("socket"));
  REQUIRE_FALSE(clients);
  // By its length, or by the time that it took.
  CHECK((clients.error().text.find("no end") != std::string::npos ||
         clients.error().status == Status::segment_not_ready));
}

TEST_CASE("signals do not end an attach") {
  const Watchdog watchdog(60);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) {};
  REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);  // without SA_RESTART
  {
    const TemporaryFolder folder;
    HostileEngine engine(folder.file("socket"), [](HostileEngine& self) {
      self.hear();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      self.welcome();
      self.hear();
      REQUIRE(self.segment().harden());
      self.segment().publish();
      self.say_attached();
      self.wait_for_close();
    });
    const pthread_t self = pthread_self();
    std::atomic<bool> stop{false};
    std::thread disturber([&] {
      while (!stop) {
        pthread_kill(self, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    const auto attached = attach({.socket = folder.file("socket")});
    stop = true;
    disturber.join();
    CHECK_MESSAGE(attached, attached.error().text);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("attaching many times leaves nothing behind") {
  const Watchdog watchdog(60);
  const TemporaryFolder folder;
  AttachServer server(folder.file("socket"));
  const auto drop_clients = [&] {
    server.with_host([](OpenHost& host) {
      host.clients.clear();
      host.events.clear();
    });
    // The server has seen the client's end when a connection of ours is all that it has.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  CHECK(attach({.socket = server.socket()}));
  drop_clients();
  const auto descriptors = open_descriptors();
  const auto mappings = mapped_segments();
  for (unsigned i = 0; i < 20; ++i) CHECK(attach({.socket = server.socket()}));
  drop_clients();
  CHECK(open_descriptors() <= descriptors);
  CHECK(mapped_segments() == mappings);
}

}  // namespace rde::test
