// Clients that die, freeze, or come and go.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "helper.h"
#include "raw_channel.h"
#include "rig.h"
#include "support/scale.h"
#include "support/stop_process.h"

using namespace rde;
using namespace rde::test;

namespace {

void check_served(Client& client) {
  for (int i = 0; i < 50; ++i) {
    REQUIRE(client.channel(0).submit(nop_request()));
    REQUIRE(next_completion(client).status == Status::ok);
  }
}

std::size_t resident_pages() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

}  // namespace

TEST_CASE("a client killed with reads under way keeps its segment until the last one has ended") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  const auto healthy = rig.attach();
  const std::size_t files = memory_files();
  Helper victim;
  REQUIRE(victim.ask("attach " + rig.socket()) == "attached 2");
  REQUIRE(victim.ask("read 20") == "submitted 20");
  REQUIRE(eventually([&] { return rig.counts().submitted == 20; }));
  victim.signal(SIGKILL);
  victim.join();
  REQUIRE(eventually([&] { return rig.stats().clients == 1; }));
  CHECK(rig.counts().cancelled == 20);
  CHECK(rig.counts().arenas == 2);
  CHECK(memory_files() == files + 1);
  check_served(*healthy);

  // The transfers still write: nothing may fault.
  rig.on_shard([](FakeIo& io) { io.finish_all_but_one(Status::ok); });
  check_served(*healthy);
  CHECK(rig.counts().arenas == 2);
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
  CHECK(eventually([&] { return rig.counts().arenas == 1 && memory_files() == files; }));
  check_served(*healthy);
}

TEST_CASE("while a dead client's transfer is stuck, others attach") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.obedient = false; });
  {
    RawChannel gone(rig);
    rde_request read = read_request(1, Buffer{0, {}});
    read.length = 100;
    gone.send(read);
    REQUIRE(eventually([&] { return rig.counts().submitted == 1; }));
  }
  REQUIRE(eventually([&] { return rig.stats().clients == 0; }));
  const auto next = rig.attach();
  check_served(*next);
  rig.on_shard([](FakeIo& io) { io.finish_all(Status::ok); });
}

TEST_CASE("a client stopped by a signal is not dead, and stops nobody") {
  Rig rig;
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto healthy = rig.attach();
  Helper stopped;
  REQUIRE(stopped.ask("attach " + rig.socket()) == "attached 2");
  REQUIRE(stopped.ask("read 50") == "submitted 50");
  stop_process(stopped.pid());
  check_served(*healthy);
  usleep(100'000);
  check_served(*healthy);
  CHECK(rig.stats().clients == 2);
  stopped.signal(SIGCONT);
  CHECK(stopped.ask("nop") == "ok");
}

TEST_CASE("a client that died is gone although a child that it forked holds its socket open") {
  Rig rig;
  Helper parent;
  REQUIRE(parent.ask("attach " + rig.socket()) == "attached 1");
  const std::string forked = parent.ask("fork");
  REQUIRE(forked.starts_with("child "));
  const pid_t child = std::stoi(forked.substr(6));
  parent.tell("exit");
  parent.join();
  CHECK(eventually([&] { return rig.stats().clients == 0; }));
  CHECK(eventually([] { return memory_files() == 0; }));
  CHECK(kill(child, 0) == 0);
  kill(child, SIGKILL);
}

TEST_CASE("clients killed at random moments, one after the other, leave nothing behind") {
  Rig rig({.mode = PollMode::adaptive});
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto healthy = rig.attach();
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 15; ++round) {
    Helper victim;
    REQUIRE(victim.ask("attach " + rig.socket()).starts_with("attached "));
    victim.tell("read 60");
    usleep(static_cast<useconds_t>(round) * 70);
    victim.signal(SIGKILL);
    victim.join();
    check_served(*healthy);
  }
  CHECK(eventually([&] { return rig.stats().clients == 1 && open_descriptors() == before; }));
  CHECK(rig.counts().arenas == 1);
}

TEST_CASE("a thousand clients come and go, and neither descriptors nor memory grow") {
  Rig rig({.mode = PollMode::adaptive});
  rig.on_shard([](FakeIo& io) { io.automatic = true; });
  const auto round = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const auto client = rig.attach();
      const auto buffer = client->allocate(1000);
      REQUIRE(client->channel(0).submit(read_request(1, *buffer)));
      REQUIRE(next_completion(*client).status == Status::ok);
    }
    REQUIRE(eventually([&] { return rig.stats().clients == 0 && rig.counts().arenas == 0; }));
    rig.on_control([](AttachService&) {});
    REQUIRE(eventually([&] {
      std::size_t attached = 1;
      rig.on_control([&](AttachService& attach) { attached = attach.attached(); });
      return attached == 0;
    }));
  };
  round(kSanitized ? 50 : 200);
  const std::size_t descriptors = open_descriptors();
  const std::size_t pages = resident_pages();
  round(kSanitized ? 100 : 800);
  CHECK(open_descriptors() == descriptors);
  // A sanitizer keeps freed memory back, so that its growth says nothing.
  if (!kSanitized) CHECK(resident_pages() < pages + 256);  // a mebibyte; each segment has two
}
