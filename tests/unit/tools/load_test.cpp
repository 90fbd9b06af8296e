#include <doctest/doctest.h>
#include <sched.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "common/exit_code.h"
#include "load/report.h"
#include "load/session.h"
#include "test_engine.h"

using namespace rde;
using namespace rde::tools;

namespace {

constexpr auto kNothing = [](const ProgressCount&) {};

std::vector<std::byte> bytes_of_size(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = static_cast<std::uint32_t>(size) + 1;
  for (auto& byte : bytes) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  return bytes;
}

struct Setup {
  Setup() {
    options.socket = engine.socket();
    options.mix = *parse_mix("nop");
    options.duration = 200 * kMillisecond;
    options.depth = 4;
    options.segment_size = 4U << 20;
  }
  // The engine has it, and the load is told of it.
  void add(const std::string& id, std::size_t size) {
    auto bytes = bytes_of_size(size);
    Sha256 hash;
    hash.add(bytes);
    options.objects.push_back({.id = *parse_file_id(id), .size = size, .sha256 = hash.finish()});
    engine.add(id, std::move(bytes));
  }
  SessionResult run() {
    Session session(options, stop);
    const auto opened = session.open();
    REQUIRE_MESSAGE(opened, opened.error().text);
    return session.run(kNothing);
  }

  test::TemporaryFolder folder;
  test::TestEngine engine{folder.file("attach.sock")};
  LoadOptions options;
  StopSign stop;
};

}  // namespace

TEST_CASE("the ring is deep enough for the depth and the credits of CANCEL") {
  CHECK(ring_depth_for(1) == 2);
  CHECK(ring_depth_for(4) == 4);
  CHECK(ring_depth_for(5) == 8);
  CHECK(ring_depth_for(6) == 8);
  CHECK(ring_depth_for(7) == 16);
  CHECK(ring_depth_for(64) == 128);
  CHECK(ring_depth_for(4094) == 4096);
  CHECK(ring_depth_for(4095) == 0);
}

TEST_CASE("a load of several producers counts what was done") {
  Setup setup;
  setup.options.mix = *parse_mix("nop=1,ping=1");
  setup.options.producers = 3;
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.done() > 0);
  CHECK(result.tally.failed() == 0);
  CHECK(result.tally.ops[index_of(Op::ping)].latency.count() > 0);
  CHECK(exit_code_of(result, 0) == kGood);
}

TEST_CASE("objects of every size are read whole, in pieces where they are large, and verified") {
  Setup setup;
  setup.options.mix = *parse_mix("read=3,stat=1");
  setup.options.piece = 8192;
  setup.add("1,01000000ff", 0);
  setup.add("1,02000000ff", 1);
  setup.add("1,03000000ff", 8192);
  setup.add("2,04000000ff", 8193);
  setup.add("2,05000000ff", 100'000);
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.objects_verified >= 5);
  CHECK(result.tally.bytes == result.tally.bytes_verified);
  CHECK(result.tally.requests > result.tally.done());
  CHECK(result.tally.wrong == 0);
  CHECK(exit_code_of(result, 0) == kGood);
}

TEST_CASE("one changed byte is found, and no allowance makes that good") {
  Setup setup;
  setup.options.mix = *parse_mix("read");
  setup.add("1,01000000ff", 5'000);
  setup.engine.corrupt_reads = true;
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.wrong > 0);
  CHECK(result.tally.errors.contains("wrong_bytes"));
  CHECK(result.tally.bytes_verified == 0);
  CHECK(exit_code_of(result, 1'000'000'000) == kCheckFailed);
}

TEST_CASE("an object of another size than the file says is found") {
  Setup setup;
  setup.options.mix = *parse_mix("read,stat");
  setup.add("1,01000000ff", 5'000);
  setup.options.objects.front().size = 5'001;
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.errors.contains("wrong_size"));
  CHECK(result.tally.errors.size() == 1);
  CHECK(exit_code_of(result, 1'000'000'000) == kCheckFailed);
}

TEST_CASE("failures are counted by status and only good where they were allowed") {
  Setup setup;
  setup.engine.nop_status = Status::draining;
  setup.options.mix = *parse_mix("nop=1,ping=9");
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.errors.at("draining") == result.tally.failed());
  CHECK(exit_code_of(result, 0) == kCheckFailed);
  CHECK(exit_code_of(result, result.tally.failed()) == kGood);
}

TEST_CASE("an open loop sends at its rate and counts the wait for a place") {
  Setup setup;
  setup.options.rate = 2'000;
  setup.options.producers = 2;
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.tally.done() > 0);
  CHECK(result.tally.done() + result.tally.not_sent <= 402);  // 0.2 s at 2,000, and no burst beyond
}

TEST_CASE("an engine that stands still makes an open loop see the whole delay") {
  Setup setup;
  setup.options.rate = 1'000;
  setup.options.depth = 1;
  setup.options.duration = 400 * kMillisecond;
  setup.engine.pause_after = 50;
  setup.engine.pause = std::chrono::milliseconds(150);
  setup.engine.start();
  const auto result = setup.run();
  // One request met the pause; those that were due during it waited as well.
  CHECK(result.tally.ops[index_of(Op::nop)].latency.percentile(80) > 10 * kMillisecond);
}

TEST_CASE("an engine that never answers ends in a time-out, not in a hang") {
  Setup setup;
  setup.engine.deaf = true;
  setup.options.drain = 100 * kMillisecond;
  setup.engine.start();
  const auto result = setup.run();
  CHECK(result.timed_out);
  CHECK(result.tally.errors.at("no_answer") == 4);
  CHECK(exit_code_of(result, 100) == kTimedOut);
}

TEST_CASE("a lost engine fails what was running, once each") {
  Setup setup;
  setup.engine.deaf = true;
  setup.options.duration = 20 * kSecond;
  setup.engine.start();
  std::jthread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    setup.engine.stop();
  });
  const auto result = setup.run();
  CHECK(result.tally.engine_gone == 1);
  CHECK(result.tally.errors.at("engine_gone") == 4);
  CHECK(result.tally.failed() == 4);
  CHECK(result.troubles.size() == 1);
  CHECK(exit_code_of(result, 100) == kCheckFailed);
}

TEST_CASE("a load goes on with the next engine and still verifies every byte") {
  Setup setup;
  setup.options.mix = *parse_mix("read=1,nop=1");
  setup.options.producers = 2;
  setup.options.reattach = true;
  setup.options.duration = 20 * kSecond;
  setup.add("1,01000000ff", 50'000);
  setup.engine.start();
  std::jthread driver([&] {
    for (int life = 0; life < 4; ++life) {
      const auto enough = setup.engine.answered() + 200;
      const auto watchdog = now_ns() + 15 * kSecond;
      while (setup.engine.answered() < enough && now_ns() < watchdog) sched_yield();
      if (life == 3) break;
      setup.engine.stop();
      setup.engine.start();
    }
    setup.stop.raise();
  });
  const auto result = setup.run();
  driver.join();
  CHECK(result.tally.engine_gone >= 2);
  CHECK(result.tally.reattached >= 2);
  CHECK(result.tally.wrong == 0);
  CHECK(result.tally.objects_verified > 0);
  CHECK(exit_code_of(result, 1'000) == kGood);
}

TEST_CASE("a segment without room for one buffer says which option helps") {
  Setup setup;
  setup.options.mix = *parse_mix("read");
  setup.options.segment_size = RDE_MIN_SEGMENT;
  setup.options.piece = 8U << 20;
  setup.options.duration = 20 * kSecond;
  setup.add("1,01000000ff", 3U << 20);
  setup.engine.start();
  const auto result = setup.run();
  REQUIRE(result.troubles.size() == 1);
  CHECK(result.troubles.front().find("--segment-size") != std::string::npos);
}
