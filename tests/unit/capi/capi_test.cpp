// The C interface, against an engine inside the test.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../tools/test_engine.h"
#include "base/crc32c.h"
#include "rde.h"
#include "support/watchdog.h"

namespace rde::test {
namespace {

std::vector<std::byte> pattern(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 8));
  return bytes;
}

struct Rig {
  Rig() : engine(folder.file("socket")) {
    engine.add("3,01637037d6", object);
    engine.add("4,02637037d6", {});
  }
  ~Rig() { rde_close(client); }

  rde_options options() {
    rde_options options = RDE_OPTIONS_INIT;
    socket = engine.socket();
    options.socket = socket.c_str();
    options.segment_size = 4 << 20;
    options.depth = 8;
    return options;
  }
  void attach(std::uint32_t channels = 0, std::uint32_t callers = 0) {
    engine.start();
    auto wanted = options();
    wanted.channels = channels;
    wanted.callers = callers;
    REQUIRE_MESSAGE(rde_attach(&wanted, &client, &error) == RDE_OK, error.text);
  }
  rde_buffer buffer(std::size_t length) {
    rde_buffer made;
    REQUIRE_MESSAGE(rde_buffer_alloc(client, length, &made, &error) == RDE_OK, error.text);
    return made;
  }
  rde_file_id id(const char* text = "3,01637037d6") {
    rde_file_id parsed;
    REQUIRE(rde_parse_file_id(text, &parsed, &error) == RDE_OK);
    return parsed;
  }
  [[nodiscard]] bool said(const char* words) const { return std::string(error.text).find(words) != std::string::npos; }

  const Watchdog watchdog{120};
  TemporaryFolder folder;
  std::vector<std::byte> object = pattern(300'000);
  TestEngine engine;
  std::string socket;
  rde_client* client = nullptr;
  rde_error error{};
};

}  // namespace

TEST_CASE("a whole object arrives in one read") {
  Rig rig;
  rig.attach();
  const auto buffer = rig.buffer(1 << 20);
  const auto id = rig.id();
  rde_read_result result;
  REQUIRE_MESSAGE(rde_read(rig.client, 0, &id, 0, &buffer, buffer.length, 0, &result, &rig.error) == RDE_OK,
                  rig.error.text);
  CHECK(result.bytes == rig.object.size());
  CHECK(result.object_size == rig.object.size());
  CHECK((result.flags & RDE_COMPLETION_FLAG_END) != 0);
  CHECK(result.crc == crc32c(rig.object));
  CHECK(std::memcmp(buffer.data, rig.object.data(), rig.object.size()) == 0);
  CHECK(rde_buffer_release(rig.client, &buffer, &rig.error) == RDE_OK);
}

TEST_CASE("an object arrives in pieces, up to its end") {
  Rig rig;
  rig.attach();
  const auto buffer = rig.buffer(65'536);
  const auto id = rig.id();
  std::vector<std::byte> got;
  rde_read_result result{};
  while ((result.flags & RDE_COMPLETION_FLAG_END) == 0) {
    REQUIRE(rde_read(rig.client, 0, &id, got.size(), &buffer, 60'000, 0, &result, &rig.error) == RDE_OK);
    const auto* bytes = static_cast<const std::byte*>(buffer.data);
    got.insert(got.end(), bytes, bytes + result.bytes);
  }
  CHECK(got == rig.object);
}

TEST_CASE("a missing object is an error that names call and status") {
  Rig rig;
  rig.attach();
  const auto buffer = rig.buffer(4096);
  const auto id = rig.id("9,0100000000");
  rde_read_result result;
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 4096, 0, &result, &rig.error) == RDE_OBJECT_NOT_FOUND);
  CHECK(rig.error.status == RDE_OBJECT_NOT_FOUND);
  CHECK(rig.said("read: object_not_found: no such object"));
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 4096, 0, &result, nullptr) == RDE_OBJECT_NOT_FOUND);
}

TEST_CASE("stat, nop and ping answer") {
  Rig rig;
  rig.attach();
  const auto id = rig.id();
  rde_stat_result stat;
  REQUIRE_MESSAGE(rde_stat(rig.client, 0, &id, 0, &stat, &rig.error) == RDE_OK, rig.error.text);
  CHECK(stat.stored_size == rig.object.size());
  CHECK(std::string(stat.name).empty());
  CHECK(rde_nop(rig.client, 0, &rig.error) == RDE_OK);
  std::uint64_t round_trip = 0;
  CHECK(rde_ping(rig.client, 0, &round_trip, &rig.error) == RDE_OK);
  CHECK(round_trip > 0);
  CHECK(rde_ping(rig.client, 0, nullptr, nullptr) == RDE_OK);
}

TEST_CASE("calls of regions reach the engine, and name what is missing or does not fit") {
  Rig rig;
  rig.attach();
  const auto buffer = rig.buffer(8192);
  std::uint64_t region = 0;
  std::uint64_t before = 0;
  rde_region_token token{};
  const auto expose = [&](std::size_t offset, std::size_t length) {
    return rde_region_expose(rig.client, &buffer, offset, length, RDE_REGION_RIGHT_READ, 0, 0, &region, &token,
                             &rig.error);
  };
  CHECK(expose(0, buffer.length) == RDE_UNKNOWN_OPERATION);
  CHECK(expose(1, buffer.length) == RDE_BUFFER_OUT_OF_RANGE);
  CHECK(expose(buffer.length + 1, 0) == RDE_BUFFER_OUT_OF_RANGE);
  CHECK(rde_region_expose(rig.client, &buffer, 0, 8, 1, 0, 0, &region, nullptr, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_region_revoke(rig.client, 1, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_region_open(rig.client, 0, &token, 0, &region, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_region_open(rig.client, 0, nullptr, 0, &region, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_region_read(rig.client, 1, 0, &buffer, 8, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_region_write(rig.client, 1, 0, &buffer, 8, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_region_write(rig.client, 1, 0, &buffer, 0, 0, &rig.error) == RDE_LENGTH_ZERO);
  CHECK(rde_region_read(rig.client, 1, 0, nullptr, 8, 0, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_fetch_add(rig.client, 1, 0, 1, 0, &before, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_compare_swap(rig.client, 1, 0, 1, 2, 0, nullptr, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_flush(rig.client, 1, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rde_region_close(nullptr, 1, 0, &rig.error) == RDE_INVALID_REQUEST);
}

TEST_CASE("what the engine does not know comes back as its status") {
  Rig rig;
  rig.attach();
  std::uint64_t peer = 0;
  CHECK(rde_connect(rig.client, "127.0.0.1:1", 0, &peer, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rig.said("127.0.0.1:1: connect: unknown_operation"));
  CHECK(rde_connect(rig.client, "", 0, &peer, &rig.error) == RDE_INVALID_ADDRESS);
  CHECK(rde_connect(rig.client, std::string(301, 'x').c_str(), 0, &peer, &rig.error) == RDE_INVALID_ADDRESS);
  CHECK(rde_disconnect(rig.client, 1, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  struct rde_capabilities capabilities;
  CHECK(rde_get_capabilities(rig.client, 0, &capabilities, &rig.error) == RDE_UNKNOWN_OPERATION);
}

TEST_CASE("the calls of sessions reach the engine, and name what is missing") {
  Rig rig;
  rig.attach();
  std::uint64_t session = 0;
  CHECK(rde_session_open(rig.client, 0, 0, 0, &session, &rig.error) == RDE_UNKNOWN_OPERATION);
  CHECK(rig.said("session open"));
  CHECK(rde_session_open(rig.client, 0, 0, 0, nullptr, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rig.said("session"));
  const std::uint32_t crc = 5;
  CHECK(rde_session_close(rig.client, 1, 0, &crc, 0, &rig.error) == RDE_UNKNOWN_OPERATION);
  const auto buffer = rig.buffer(100);
  const auto id = rig.id();
  rde_read_result result;
  CHECK(rde_session_read(rig.client, 1, &id, 0, &buffer, 0, 0, &result, &rig.error) == RDE_LENGTH_ZERO);
  CHECK(rde_session_read(rig.client, 1, &id, 0, nullptr, 1, 0, &result, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_session_close(nullptr, 1, 1, nullptr, 0, &rig.error) == RDE_INVALID_REQUEST);
}

TEST_CASE("calls of many threads share the callers") {
  Rig rig;
  rig.attach(1, 2);
  std::vector<std::thread> threads;
  std::atomic<unsigned> wrong{0};
  for (unsigned i = 0; i < 5; ++i) {
    threads.emplace_back([&] {
      for (unsigned turn = 0; turn < 100; ++turn) wrong += rde_nop(rig.client, 0, nullptr) == RDE_OK ? 0 : 1;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("requests overlap on a channel, and each has its answer") {
  Rig rig;
  rig.attach(2);
  const struct rde_request nop { .op = RDE_OP_NOP };
  for (std::uint64_t user = 1; user <= 6; ++user) {
    std::uint64_t tag = 0;
    REQUIRE(rde_submit(rig.client, 1, &nop, user, &tag, &rig.error) == RDE_OK);
    CHECK(tag != 0);
  }
  CHECK(rde_submit(rig.client, 1, &nop, 7, nullptr, &rig.error) == RDE_RING_FULL);
  std::vector<std::uint64_t> users;
  while (users.size() < 6) {
    REQUIRE(rde_wait(rig.client, 1, 0, &rig.error) == RDE_OK);
    rde_reaped reaped[4];
    std::size_t count = 0;
    REQUIRE(rde_reap(rig.client, 1, reaped, 4, &count, &rig.error) == RDE_OK);
    CHECK(count <= 4);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(reaped[i].status == RDE_OK);
      CHECK(reaped[i].ends == 1);
      CHECK(reaped[i].returns_buffer == 1);
      users.push_back(reaped[i].user);
    }
  }
  CHECK(users == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
  CHECK(rde_wait(rig.client, 1, 1'000'000, &rig.error) == RDE_DEADLINE_EXCEEDED);
}

TEST_CASE("a cancel has an answer of its own") {
  Rig rig;
  rig.attach();
  REQUIRE(rde_cancel(rig.client, 0, 12345, &rig.error) == RDE_OK);
  REQUIRE(rde_wait(rig.client, 0, 0, &rig.error) == RDE_OK);
  rde_reaped reaped;
  std::size_t count = 0;
  REQUIRE(rde_reap(rig.client, 0, &reaped, 1, &count, &rig.error) == RDE_OK);
  REQUIRE(count == 1);
  CHECK(reaped.user == 0);
}

TEST_CASE("an engine that is gone fails what is under way, and every call") {
  Rig rig;
  rig.engine.deaf = true;
  rig.attach();
  const struct rde_request nop { .op = RDE_OP_NOP };
  REQUIRE(rde_submit(rig.client, 0, &nop, 5, nullptr, &rig.error) == RDE_OK);
  CHECK(rde_engine_gone(rig.client) == 0);
  rig.engine.stop();
  CHECK(rde_wait(rig.client, 0, 0, &rig.error) == RDE_ENGINE_GONE);
  CHECK(rde_engine_gone(rig.client) == 1);
  rde_reaped reaped[2];
  std::size_t count = 0;
  REQUIRE(rde_reap(rig.client, 0, reaped, 2, &count, &rig.error) == RDE_OK);
  REQUIRE(count == 1);
  CHECK(reaped[0].user == 5);
  CHECK(reaped[0].status == RDE_ENGINE_GONE);
  CHECK(rde_nop(rig.client, 0, &rig.error) == RDE_ENGINE_GONE);
  CHECK(rde_status_may_retry(RDE_ENGINE_GONE) == 1);
}

TEST_CASE("a read that an engine answers too late keeps its buffer until then") {
  Rig rig;
  rig.engine.pause_after = 1;
  rig.engine.pause = std::chrono::seconds(2);
  rig.attach(1, 1);
  const auto buffer = rig.buffer(2 << 20);  // nothing else of this size is free
  const auto id = rig.id();
  rde_read_result result;
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 4096, 1'000'000, &result, &rig.error) == RDE_DEADLINE_EXCEEDED);
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 4096, 1'000'000, &result, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rig.said("may still write into it"));
  CHECK(rde_buffer_release(rig.client, &buffer, &rig.error) == RDE_OK);
  CHECK(rde_buffer_release(rig.client, &buffer, &rig.error) == RDE_INVALID_REQUEST);
  rde_buffer other;
  CHECK(rde_buffer_alloc(rig.client, 2 << 20, &other, &rig.error) == RDE_OUT_OF_BUFFERS);
  while (rde_buffer_alloc(rig.client, 2 << 20, &other, &rig.error) != RDE_OK) std::this_thread::yield();
  CHECK(other.page == buffer.page);
}

TEST_CASE("buffers are checked") {
  Rig rig;
  rig.attach();
  rde_buffer buffer;
  CHECK(rde_buffer_alloc(rig.client, 0, &buffer, &rig.error) == RDE_LENGTH_ZERO);
  CHECK(rde_buffer_alloc(rig.client, ~std::size_t{0}, &buffer, &rig.error) == RDE_OUT_OF_BUFFERS);
  CHECK(rig.said("options.segment_size"));
  buffer = rig.buffer(100);
  std::memset(buffer.data, 1, buffer.length);
  const auto id = rig.id();
  rde_read_result result;
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 101, 0, &result, &rig.error) == RDE_BUFFER_TOO_SMALL);
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 0, 0, &result, &rig.error) == RDE_LENGTH_ZERO);
  auto forged = buffer;
  forged.page += 1;
  CHECK(rde_read(rig.client, 0, &id, 0, &forged, 50, 0, &result, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_buffer_release(rig.client, &forged, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rde_buffer_release(rig.client, &buffer, &rig.error) == RDE_OK);
}

TEST_CASE("NULL is an error, not a crash") {
  Rig rig;
  rig.attach();
  const struct rde_request request {};
  rde_reaped reaped;
  rde_file_id id{};
  rde_buffer buffer{};
  rde_read_result read;
  rde_stat_result stat;
  std::size_t count = 0;
  std::uint64_t peer = 0;
  struct rde_capabilities capabilities;
  auto* error = &rig.error;
  CHECK(rde_attach(nullptr, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_engine_gone(nullptr) == 1);
  rde_close(nullptr);
  CHECK(rde_buffer_alloc(nullptr, 1, &buffer, error) == RDE_INVALID_REQUEST);
  CHECK(rde_buffer_alloc(rig.client, 1, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_buffer_release(rig.client, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_submit(nullptr, 0, &request, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_submit(rig.client, 0, nullptr, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_submit(rig.client, 1, &request, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_reap(rig.client, 0, nullptr, 1, &count, error) == RDE_INVALID_REQUEST);
  CHECK(rde_reap(rig.client, 0, &reaped, 1, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_wait(nullptr, 0, 1, error) == RDE_INVALID_REQUEST);
  CHECK(rde_cancel(rig.client, 99, 1, error) == RDE_INVALID_REQUEST);
  CHECK(rde_nop(nullptr, 0, error) == RDE_INVALID_REQUEST);
  CHECK(rde_ping(nullptr, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_get_capabilities(rig.client, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_get_capabilities(nullptr, 0, &capabilities, error) == RDE_INVALID_REQUEST);
  CHECK(rde_connect(rig.client, nullptr, 0, &peer, error) == RDE_INVALID_REQUEST);
  CHECK(rde_connect(rig.client, "a:1", 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_disconnect(nullptr, 0, 0, error) == RDE_INVALID_REQUEST);
  CHECK(rde_stat(rig.client, 0, nullptr, 0, &stat, error) == RDE_INVALID_REQUEST);
  CHECK(rde_stat(rig.client, 0, &id, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_read(rig.client, 0, nullptr, 0, &buffer, 1, 0, &read, error) == RDE_INVALID_REQUEST);
  CHECK(rde_read(rig.client, 0, &id, 0, nullptr, 1, 0, &read, error) == RDE_INVALID_REQUEST);
  CHECK(rde_read(rig.client, 0, &id, 0, &buffer, 1, 0, nullptr, error) == RDE_INVALID_REQUEST);
  CHECK(rde_parse_file_id(nullptr, &id, error) == RDE_INVALID_REQUEST);
  CHECK(rde_parse_file_id("3,01637037d6", nullptr, error) == RDE_INVALID_REQUEST);
}

TEST_CASE("options of another size are taken or refused, never guessed") {
  Rig rig;
  rig.engine.start();
  struct {
    rde_options known;
    std::uint64_t later;
  } newer{rig.options(), 0};
  newer.known.size = sizeof newer;
  REQUIRE_MESSAGE(rde_attach(&newer.known, &rig.client, &rig.error) == RDE_OK, rig.error.text);
  rde_close(rig.client);
  rig.client = nullptr;
  newer.later = 1;
  CHECK(rde_attach(&newer.known, &rig.client, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rig.client == nullptr);
  auto older = rig.options();
  older.size = 8;
  CHECK(rde_attach(&older, &rig.client, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rig.said("options.size = 8"));
  auto odd = rig.options();
  odd.reserved = 1;
  CHECK(rde_attach(&odd, &rig.client, &rig.error) == RDE_RESERVED_NOT_ZERO);
  auto many = rig.options();
  many.callers = 2049;
  CHECK(rde_attach(&many, &rig.client, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(rig.said("options.callers = 2049"));
}

TEST_CASE("no engine is an error with the path, cut to fit") {
  Rig rig;
  auto options = rig.options();
  CHECK(rde_attach(&options, &rig.client, &rig.error) == RDE_SYSTEM_ERROR);
  CHECK(rig.said(rig.socket.c_str()));
  const std::string longest(5000, 'x');
  options.socket = longest.c_str();
  CHECK(rde_attach(&options, &rig.client, &rig.error) == RDE_INVALID_REQUEST);
  CHECK(std::strlen(rig.error.text) == sizeof rig.error.text - 1);
}

TEST_CASE("statuses and file ids need no engine") {
  CHECK(std::string(rde_status_name(RDE_OBJECT_NOT_FOUND)) == "object_not_found");
  CHECK(std::string(rde_status_category(RDE_OBJECT_NOT_FOUND)) == "io");
  CHECK(std::string(rde_status_meaning(RDE_OK)) == "done");
  CHECK(rde_status_may_retry(RDE_OBJECT_NOT_FOUND) == 0);
  for (const int unknown : {-1, 1, 54321, 65536, 1 << 30})
    CHECK(std::string(rde_status_name(unknown)) == "unknown_status");
  rde_file_id id;
  rde_error error;
  REQUIRE(rde_parse_file_id("3,01637037d6", &id, &error) == RDE_OK);
  CHECK(id.volume == 3);
  CHECK(id.needle == 1);
  CHECK(id.cookie == 0x637037d6);
  CHECK(rde_parse_file_id("rubbish", &id, &error) == RDE_INVALID_FILE_ID);
  CHECK(std::string(rde_version()).find('.') != std::string::npos);
  const auto before = rde_now_ns();
  CHECK(rde_now_ns() >= before);
}

}  // namespace rde::test
