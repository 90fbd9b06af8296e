#include "client/channel.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "scripted_engine.h"

namespace rde::test {
namespace {

constexpr std::uint16_t kMore = RDE_COMPLETION_FLAG_MORE;
constexpr std::uint16_t kBufferFree = RDE_COMPLETION_FLAG_BUFFER_FREE;

struct Pair {
  explicit Pair(std::uint32_t depth = 8) : engine({.depth = depth}), channel(engine.view(), 0, engine.event()) {}

  std::uint64_t submit(std::uint32_t length = 0, std::uint64_t user = 0) {
    const auto tag = channel.submit({.op = RDE_OP_NOP, .length = length}, user);
    REQUIRE_MESSAGE(tag, tag.error().text);
    return *tag;
  }
  Reaped reap() {
    Reaped reaped;
    REQUIRE(channel.reap(reaped));
    return reaped;
  }
  // How many more requests are taken.
  unsigned fill() {
    unsigned count = 0;
    while (channel.submit({.op = RDE_OP_NOP})) ++count;
    return count;
  }

  ScriptedEngine engine;
  Channel channel;
};

// A completion that must not be believed.
void check_breaks(Pair& pair, const rde_completion& completion) {
  pair.engine.complete(completion);
  Reaped reaped;
  CHECK_FALSE(pair.channel.reap(reaped));
  CHECK(pair.channel.broken());
  const auto refused = pair.channel.submit({.op = RDE_OP_NOP});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::engine_broken);
  pair.engine.complete(completion);
  CHECK_FALSE(pair.channel.reap(reaped));
}

}  // namespace

TEST_CASE("a completion comes back with what its request was given") {
  Pair pair;
  const auto tag = pair.submit(100, 7);
  const auto request = pair.engine.take();
  CHECK(request.tag == tag);
  CHECK(request.length == 100);
  pair.engine.complete({.status = RDE_OBJECT_NOT_FOUND, .flags = 4, .tag = tag, .bytes = 60, .crc = 5, .value = 6});
  const auto reaped = pair.reap();
  CHECK(reaped.tag == tag);
  CHECK(reaped.user == 7);
  CHECK(reaped.status == Status::object_not_found);
  CHECK(reaped.flags == 4);
  CHECK(reaped.bytes == 60);
  CHECK(reaped.crc == 5);
  CHECK(reaped.value == 6);
  CHECK(reaped.ends);
  CHECK(reaped.returns_buffer);
  CHECK(pair.channel.outstanding() == 0);
}

TEST_CASE("completions may come in any order") {
  Pair pair;
  const auto first = pair.submit(0, 1);
  const auto second = pair.submit(0, 2);
  pair.engine.complete(second);
  pair.engine.complete(first);
  CHECK(pair.reap().user == 2);
  CHECK(pair.reap().user == 1);
}

TEST_CASE("a channel takes its depth less the credits kept for CANCEL") {
  for (const std::uint32_t depth : {2U, 4U, 8U, 64U, 4096U}) {
    CAPTURE(depth);
    ScriptedEngine engine({.total_size = 16 << 20, .depth = depth});
    Channel channel(engine.view(), 0, engine.event());
    const unsigned kept = depth >= 8 ? RDE_RESERVED_CREDITS : 0;
    unsigned taken = 0;
    std::uint64_t tag = 0;
    while (const auto submitted = channel.submit({.op = RDE_OP_NOP})) {
      tag = *submitted;
      ++taken;
    }
    CHECK(taken == depth - kept);
    unsigned cancels = 0;
    while (channel.cancel(tag)) ++cancels;
    CHECK(cancels == kept);
    CHECK(channel.outstanding() == depth);
  }
}

TEST_CASE("a full channel says what is outstanding") {
  Pair pair;
  pair.fill();
  const auto refused = pair.channel.submit({.op = RDE_OP_NOP});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::ring_full);
  CHECK(refused.error().text.find("6 of 8") != std::string::npos);
}

TEST_CASE("a credit is back with the first completion") {
  Pair pair;
  const auto tag = pair.submit();
  CHECK(pair.fill() == 5);
  pair.engine.complete(tag);
  (void)pair.reap();
  CHECK(pair.fill() == 1);
}

TEST_CASE("a cancel names its victim, and is answered like any other") {
  Pair pair;
  const auto victim = pair.submit(10, 3);
  const auto cancel = pair.channel.cancel(victim);
  REQUIRE(cancel);
  (void)pair.engine.take();
  const auto request = pair.engine.take();
  CHECK(request.op == RDE_OP_CANCEL);
  rde_cancel_args args;
  std::memcpy(&args, request.args, sizeof args);
  CHECK(args.tag == victim);
  pair.engine.complete({.status = RDE_CANCELLED, .flags = kMore, .tag = victim});
  pair.engine.complete(*cancel);
  CHECK(pair.reap().status == Status::cancelled);
  CHECK(pair.reap().tag == *cancel);
}

TEST_CASE("an answer with MORE ends the request, and BUFFER_FREE returns its buffer") {
  Pair pair;
  const auto tag = pair.submit(100, 9);
  pair.engine.complete({.status = RDE_DEADLINE_EXCEEDED, .flags = kMore, .tag = tag});
  auto reaped = pair.reap();
  CHECK(reaped.ends);
  CHECK_FALSE(reaped.returns_buffer);
  CHECK(pair.channel.outstanding() == 0);
  CHECK(pair.channel.quarantined() == 1);
  pair.engine.complete({.flags = kBufferFree, .tag = tag});
  reaped = pair.reap();
  CHECK_FALSE(reaped.ends);
  CHECK(reaped.returns_buffer);
  CHECK(reaped.user == 9);
  CHECK(pair.channel.quarantined() == 0);
}

TEST_CASE("quarantined buffers use up the completion ring, but leave CANCEL its credits") {
  Pair pair;
  std::vector<std::uint64_t> quarantined;
  for (;;) {
    const auto tag = pair.channel.submit({.op = RDE_OP_NOP});
    if (!tag) break;
    pair.engine.complete({.flags = kMore, .tag = *tag});
    (void)pair.reap();
    quarantined.push_back(*tag);
  }
  // 2 × (0 + 2 + 1) + quarantined ≤ 32.
  CHECK(quarantined.size() == 27);
  CHECK(pair.channel.cancel(quarantined[0]));
  CHECK(pair.channel.cancel(quarantined[1]));
  CHECK_FALSE(pair.channel.cancel(quarantined[2]));
  pair.engine.complete({.flags = kBufferFree, .tag = quarantined[5]});
  (void)pair.reap();
  CHECK(pair.channel.quarantined() == 26);
}

TEST_CASE("a completion for nothing that is outstanding breaks the engine") {
  for (const std::uint64_t tag : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 32,
                                  std::uint64_t{1} << 32 | 31, std::uint64_t{1} << 32 | 32, std::uint64_t{2} << 32}) {
    CAPTURE(tag);
    Pair pair;
    if (pair.submit() == tag) continue;
    check_breaks(pair, {.tag = tag});
  }
}

TEST_CASE("a second completion of one request breaks the engine") {
  Pair pair;
  const auto tag = pair.submit();
  pair.engine.complete(tag);
  (void)pair.reap();
  check_breaks(pair, {.tag = tag});
}

TEST_CASE("the tag of a request that was answered is not believed for the next one") {
  Pair pair;
  const auto stale = pair.submit();
  pair.engine.complete(stale);
  (void)pair.reap();
  CHECK(pair.submit() != stale);
  check_breaks(pair, {.tag = stale});
}

TEST_CASE("a BUFFER_FREE that nothing waits for breaks the engine") {
  Pair pair;
  check_breaks(pair, {.flags = kBufferFree, .tag = pair.submit()});
}

TEST_CASE("a second answer of a quarantined request breaks the engine") {
  for (const std::uint16_t flags : {std::uint16_t{0}, kMore}) {
    Pair pair;
    const auto tag = pair.submit();
    pair.engine.complete({.flags = kMore, .tag = tag});
    (void)pair.reap();
    check_breaks(pair, {.flags = flags, .tag = tag});
  }
}

TEST_CASE("MORE and BUFFER_FREE together break the engine") {
  Pair pair;
  check_breaks(pair, {.flags = kMore | kBufferFree, .tag = pair.submit()});
}

TEST_CASE("more bytes than the request has room for break the engine") {
  Pair pair;
  check_breaks(pair, {.tag = pair.submit(100), .bytes = 101});
  Pair whole;
  whole.engine.complete({.tag = whole.submit(100), .bytes = 100});
  CHECK(whole.reap().bytes == 100);
}

TEST_CASE("an engine that is gone fails what is outstanding and quarantined, each once") {
  Pair pair;
  const auto answered = pair.submit(0, 1);
  pair.submit(0, 2);
  const auto quarantined = pair.submit(0, 3);
  pair.engine.complete(answered);
  pair.engine.complete({.flags = kMore, .tag = quarantined});
  (void)pair.reap();
  (void)pair.reap();
  std::map<std::uint64_t, Reaped> failed;
  Reaped reaped;
  while (pair.channel.fail_next(Status::engine_gone, reaped)) CHECK(failed.emplace(reaped.user, reaped).second);
  CHECK(failed.size() == 2);
  CHECK(failed.at(2).ends);
  CHECK(failed.at(2).status == Status::engine_gone);
  CHECK(failed.at(2).returns_buffer);
  CHECK_FALSE(failed.at(3).ends);
  CHECK(failed.at(3).returns_buffer);
  CHECK(pair.channel.outstanding() == 0);
  CHECK(pair.channel.quarantined() == 0);
  CHECK_FALSE(pair.channel.submit({.op = RDE_OP_NOP}));
}

TEST_CASE("a channel that the engine faulted takes nothing, and says why") {
  Pair pair;
  const auto tag = pair.submit();
  pair.engine.view().channel(0)->fault_status = RDE_RESERVED_NOT_ZERO;
  store_release(&pair.engine.view().channel(0)->state, std::uint32_t{RDE_CHANNEL_STATE_FAULTED});
  CHECK(pair.channel.faulted());
  const auto refused = pair.channel.submit({.op = RDE_OP_NOP});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == Status::ring_broken);
  CHECK(refused.error().text.find("reserved_not_zero") != std::string::npos);
  // What was taken before still completes.
  pair.engine.complete(tag);
  CHECK(pair.reap().tag == tag);
}

TEST_CASE("a sleeping engine is woken once for a batch, one that polls never") {
  Pair pair;
  const auto rung = [&] {
    const auto readable = prim::wait_readable(pair.engine.event(), 0);
    std::uint64_t count = 0;
    if (readable && *readable) CHECK(::read(pair.engine.event(), &count, sizeof count) == sizeof count);
    return count;
  };
  pair.submit();
  CHECK(rung() == 0);
  pair.engine.view().channel(0)->request_cold = 1;
  Sleeper sleeper(pair.engine.view().shard_doorbell(0), 1);
  sleeper.announce();
  (void)pair.channel.stage({.op = RDE_OP_NOP});
  (void)pair.channel.stage({.op = RDE_OP_NOP});
  CHECK(rung() == 0);
  pair.channel.flush();
  CHECK(sleeper.any());
  CHECK(rung() == 1);
  pair.submit();
  CHECK(rung() == 0);
}

TEST_CASE("the cursors for tools follow") {
  Pair pair;
  const auto tag = pair.submit();
  CHECK(pair.engine.view().channel(0)->requests_posted == 1);
  pair.engine.complete(tag);
  (void)pair.reap();
  CHECK(pair.engine.view().channel(0)->completions_reaped == 1);
}

TEST_CASE("random traffic keeps every promise of the credits") {
  for (const std::uint32_t depth : {2U, 4U, 8U, 64U}) {
    CAPTURE(depth);
    Pair pair(depth);
    std::mt19937_64 random(depth);
    std::vector<std::uint64_t> taken;        // the engine's: no answer yet
    std::vector<std::uint64_t> quarantined;  // the engine's: answered with MORE
    std::map<std::uint64_t, bool> running;   // by tag: whether it was answered with MORE
    std::uint64_t unread = 0;
    std::uint64_t most_unread = 0;
    std::uint64_t answered = 0;
    const auto pick = [&](std::vector<std::uint64_t>& from) {
      std::swap(from[random() % from.size()], from.back());
      const auto tag = from.back();
      from.pop_back();
      return tag;
    };
    while (answered < 20'000) {
      switch (random() % 4) {
        case 0: {
          const auto tag = pair.channel.submit({.op = RDE_OP_NOP});
          if (tag) REQUIRE(running.emplace(*tag, false).second);
          break;
        }
        case 1: {
          rde_request request;
          if (!pair.engine.take(request)) break;
          taken.push_back(request.tag);
          REQUIRE(taken.size() <= depth);
          break;
        }
        case 2:
          if (!taken.empty()) {
            const bool more = random() % 3 == 0;
            const auto tag = pick(taken);
            pair.engine.complete({.flags = more ? kMore : std::uint16_t{0}, .tag = tag});
            if (more) quarantined.push_back(tag);
            ++unread;
          } else if (!quarantined.empty()) {
            pair.engine.complete({.flags = kBufferFree, .tag = pick(quarantined)});
            ++unread;
          }
          most_unread = std::max(most_unread, unread);
          REQUIRE(unread <= std::uint64_t{4} * depth);
          break;
        default: {
          Reaped reaped;
          if (!pair.channel.reap(reaped)) {
            REQUIRE_FALSE(pair.channel.broken());
            break;
          }
          --unread;
          const auto found = running.find(reaped.tag);
          REQUIRE(found != running.end());
          REQUIRE(reaped.ends != found->second);
          found->second = true;
          if (reaped.returns_buffer) running.erase(found);
          answered += reaped.ends ? 1 : 0;
        }
      }
      REQUIRE(pair.channel.outstanding() <= depth);
    }
    CHECK(most_unread > 0);
  }
}

}  // namespace rde::test
