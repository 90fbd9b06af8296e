#include "client/client.h"

#include <doctest/doctest.h>

#include <functional>
#include <thread>

#include "support/attach_server.h"
#include "support/temporary_folder.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

// An attached client, and its engine's end of channel 0.
struct Rig {
  Rig() : server(folder.file("socket")) {
    auto attached = Client::attach({.socket = server.socket(), .channels = 1, .depth = 8});
    REQUIRE_MESSAGE(attached, attached.error().text);
    client = std::move(*attached);
    server.with_host([this](OpenHost& host) {
      view = host.clients.at(0).segment->view();
      wake = host.clients.at(0).wake.ringer.get();
    });
    requests = std::make_unique<RingReader<rde_request>>(view.requests(0), 8);
    completions = std::make_unique<RingWriter<rde_completion>>(view.completions(0), 32);
    ringer = std::make_unique<Ringer>(view.client_doorbell());
  }

  rde_request take() {
    rde_request request;
    while (!requests->read(request)) std::this_thread::yield();
    return request;
  }
  void complete(const rde_completion& completion) {
    completions->write(completion);
    full_fence();
    if (load_relaxed(&view.channel(0)->completion_cold) != 0 && ringer->ring(0)) prim::send_wake(wake);
  }
  Result<Reaped> nop(Nanoseconds deadline = 0, std::vector<Reaped>* others = nullptr, std::uint32_t length = 0) {
    return client->call(client->channel(0), {.op = RDE_OP_NOP, .length = length}, deadline, others);
  }
  // A call, while the engine does something.
  Result<Reaped> nop_while(const std::function<void()>& engine, Nanoseconds deadline = 0,
                           std::vector<Reaped>* others = nullptr) {
    std::thread thread(engine);
    auto answer = nop(deadline, others, 100);
    thread.join();
    return answer;
  }

  const Watchdog watchdog{60};
  TemporaryFolder folder;
  AttachServer server;
  std::unique_ptr<Client> client;
  SegmentView view;
  int wake = -1;
  std::unique_ptr<RingReader<rde_request>> requests;
  std::unique_ptr<RingWriter<rde_completion>> completions;
  std::unique_ptr<Ringer> ringer;
};

}  // namespace

TEST_CASE("a call gets the answer to its own request") {
  Rig rig;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto answer = rig.nop_while([&] { rig.complete({.tag = rig.take().tag, .value = i}); });
    REQUIRE_MESSAGE(answer, answer.error().text);
    CHECK(answer->value == i);
  }
  CHECK(load_relaxed(&rig.view.client_doorbell()->late_wakeups) == 0);
  CHECK(load_relaxed(&rig.view.client_page()->heartbeat_ns) != 0);
}

TEST_CASE("a call passes its deadline on, and has one when none is given") {
  Rig rig;
  const Nanoseconds deadline = now_ns() + 20 * kSecond;
  for (const Nanoseconds given : {deadline, Nanoseconds{0}, ~Nanoseconds{0}}) {
    rde_request request{};
    const auto answer = rig.nop_while(
        [&] {
          request = rig.take();
          rig.complete({.tag = request.tag});
        },
        given);
    REQUIRE_MESSAGE(answer, answer.error().text);
    if (given != 0) CHECK(request.deadline_ns == given);
    if (given == 0) CHECK(request.deadline_ns > now_ns());
  }
}

TEST_CASE("a call hands the completions of others on") {
  Rig rig;
  const auto other = rig.client->channel(0).submit({.op = RDE_OP_NOP}, 42);
  REQUIRE(other);
  std::vector<Reaped> others;
  const auto answer = rig.nop_while(
      [&] {
        rig.complete({.tag = rig.take().tag});
        rig.complete({.tag = rig.take().tag});
      },
      0, &others);
  REQUIRE(answer);
  REQUIRE(others.size() == 1);
  CHECK(others[0].user == 42);
}

TEST_CASE("a frozen engine is answered for, and its late answer is not lost") {
  Rig rig;
  const auto answer = rig.nop(now_ns() + kMillisecond);
  REQUIRE_MESSAGE(answer, answer.error().text);
  CHECK(answer->status == Status::deadline_exceeded);
  CHECK(answer->ends);
  CHECK_FALSE(answer->returns_buffer);
  std::vector<Reaped> others;
  const auto next = rig.nop_while(
      [&] {
        rig.complete({.tag = rig.take().tag});
        rig.complete({.tag = rig.take().tag});
      },
      0, &others);
  REQUIRE(next);
  REQUIRE(others.size() == 1);
  CHECK(others[0].tag == answer->tag);
  CHECK(others[0].returns_buffer);
}

TEST_CASE("an answer with MORE ends a call, without its buffer") {
  Rig rig;
  const auto answer = rig.nop_while([&] {
    rig.complete({.status = RDE_DEADLINE_EXCEEDED, .flags = RDE_COMPLETION_FLAG_MORE, .tag = rig.take().tag});
  });
  REQUIRE(answer);
  CHECK_FALSE(answer->returns_buffer);
  CHECK(rig.client->channel(0).quarantined() == 1);
}

TEST_CASE("an engine that goes during a call is an error that may be tried again") {
  Rig rig;
  const auto answer = rig.nop_while([&] {
    (void)rig.take();
    rig.server.stop();
  });
  REQUIRE_FALSE(answer);
  CHECK(answer.error().status == Status::engine_gone);
  CHECK(may_retry(answer.error().status));
  CHECK(rig.client->engine_gone());
}

TEST_CASE("a channel that is faulted during a call ends it") {
  Rig rig;
  const auto answer = rig.nop_while([&] {
    (void)rig.take();
    store_release(&rig.view.channel(0)->state, std::uint32_t{RDE_CHANNEL_STATE_FAULTED});
  });
  REQUIRE_FALSE(answer);
  CHECK(answer.error().status == Status::ring_broken);
}

TEST_CASE("a forged completion during a call is the engine's fault") {
  Rig rig;
  const auto answer = rig.nop_while([&] { rig.complete({.tag = rig.take().tag + 1}); });
  REQUIRE_FALSE(answer);
  CHECK(answer.error().status == Status::engine_broken);
}

TEST_CASE("a buffer is as long as was asked for and lies in the arena") {
  Rig rig;
  const auto buffer = rig.client->allocate(5000);
  REQUIRE(buffer);
  CHECK(buffer->bytes.size() == 5000);
  CHECK(buffer->bytes.data() == rig.client->view().arena().data() + std::uint64_t{buffer->page} * RDE_ARENA_PAGE);
  CHECK(load_relaxed(&rig.view.client_page()->lent_buffers) == 1);
  rig.client->release(*buffer);
  CHECK(load_relaxed(&rig.view.client_page()->lent_buffers) == 0);
  CHECK_FALSE(rig.client->allocate(~std::uint64_t{0}));
  CHECK_FALSE(rig.client->allocate(1 << 30));
}

}  // namespace rde::test
