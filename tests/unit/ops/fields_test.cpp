// Every field of a request, with every kind of value that no client should send. Whatever it is, the engine answers or
// faults the channel, and serves on.
#include <doctest/doctest.h>

#include <cstring>

#include "raw_channel.h"
#include "rig.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::uint8_t kOps[] = {RDE_OP_NOP,          RDE_OP_PING,          RDE_OP_CAPABILITIES,  RDE_OP_CONNECT,
                                 RDE_OP_DISCONNECT,   RDE_OP_OBJECT_STAT,   RDE_OP_OBJECT_READ,   RDE_OP_CANCEL,
                                 RDE_OP_SESSION_OPEN, RDE_OP_SESSION_CLOSE, RDE_OP_REGION_EXPOSE, RDE_OP_REGION_REVOKE,
                                 RDE_OP_REGION_OPEN,  RDE_OP_REGION_CLOSE,  RDE_OP_REGION_READ,   RDE_OP_REGION_WRITE,
                                 RDE_OP_FETCH_ADD,    RDE_OP_COMPARE_SWAP,  RDE_OP_FLUSH};

rde_request request_of(std::uint8_t op, std::uint64_t tag = 1) {
  rde_request request{};
  request.op = op;
  request.tag = tag;
  request.length = 512;
  return request;
}

template <class Args>
rde_request with(rde_request request, const Args& args) {
  static_assert(sizeof args == sizeof request.args);
  std::memcpy(request.args, &args, sizeof args);
  return request;
}

struct Fixture {
  Rig rig;
  RawChannel raw{rig};
  Fixture() {
    rig.on_shard([](FakeIo& io) { io.automatic = true; });
  }
  std::uint64_t arena_pages() { return raw.view().header().arena_size / RDE_ARENA_PAGE; }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "every number that is no operation is answered unknown_operation") {
  for (unsigned op = 0; op < 256; ++op) {
    if (op >= RDE_OP_NOP && op <= RDE_OP_FLUSH) continue;
    REQUIRE(raw.answer(request_of(static_cast<std::uint8_t>(op))) == Status::unknown_operation);
  }
}

TEST_CASE_FIXTURE(Fixture, "every flag that an operation does not know is refused, each alone and all together") {
  for (const auto op : kOps) {
    for (unsigned flags = 1; flags < 256; flags = flags < 128 ? flags * 2 : flags + 127) {
      if (op == RDE_OP_OBJECT_READ && flags == RDE_REQUEST_FLAG_SKIP_CRC) continue;
      if ((op == RDE_OP_OBJECT_READ || op == RDE_OP_OBJECT_STAT) && flags == RDE_REQUEST_FLAG_IN_SESSION) continue;
      auto request = request_of(op);
      request.flags = static_cast<std::uint8_t>(flags);
      REQUIRE(raw.answer(request) == Status::invalid_flags);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "a priority beyond the known ones is refused") {
  for (const unsigned priority : {2U, 3U, 127U, 128U, 255U}) {
    for (const auto op : kOps) {
      auto request = request_of(op);
      request.priority = static_cast<std::uint8_t>(priority);
      REQUIRE(raw.answer(request) == Status::invalid_request);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "a reserved byte of the frame faults the channel") {
  auto request = request_of(RDE_OP_NOP);
  request.reserved = 1;
  raw.send(request);
  REQUIRE(eventually([&] { return raw.faulted(); }));
  CHECK(raw.fault() == Status::reserved_not_zero);
  CHECK(rig.stats().violations == 1);
}

TEST_CASE_FIXTURE(Fixture, "each byte of the arguments that an operation does not use must be zero") {
  struct Unused {
    std::uint8_t op;
    std::size_t from;
  };
  for (const auto& [op, from] :
       {Unused{RDE_OP_NOP, 0}, Unused{RDE_OP_CAPABILITIES, 0}, Unused{RDE_OP_CONNECT, 0}, Unused{RDE_OP_DISCONNECT, 0},
        Unused{RDE_OP_CANCEL, 8}, Unused{RDE_OP_PING, 8}, Unused{RDE_OP_OBJECT_STAT, 16},
        Unused{RDE_OP_REGION_REVOKE, 0}, Unused{RDE_OP_REGION_OPEN, 0}, Unused{RDE_OP_REGION_CLOSE, 0},
        Unused{RDE_OP_REGION_READ, 8}, Unused{RDE_OP_REGION_WRITE, 8}, Unused{RDE_OP_FETCH_ADD, 16},
        Unused{RDE_OP_FLUSH, 0}}) {
    for (std::size_t at = from; at < sizeof(rde_request::args); ++at) {
      auto request = request_of(op);
      request.args[at] = 0x80;
      REQUIRE(raw.answer(request) == Status::reserved_not_zero);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "a buffer must lie in the arena, at every edge") {
  const std::uint64_t pages = arena_pages();
  struct Place {
    std::uint64_t page;
    std::uint64_t length;
    bool inside;
  };
  const Place places[] = {
      {0, 1, true},
      {0, pages * RDE_ARENA_PAGE, true},
      {0, pages * RDE_ARENA_PAGE + 1, false},
      {0, 0xFFFFFFFF, false},
      {pages - 1, RDE_ARENA_PAGE, true},
      {pages - 1, RDE_ARENA_PAGE + 1, false},
      {pages, 1, false},
      {pages + 1, 1, false},
      {0x7FFFFFFF, 1, false},
      {0xFFFFFFFF, 1, false},
      {0xFFFFFFFF, 0xFFFFFFFF, false},
      {0xFFFFFFFF, RDE_ARENA_PAGE, false},  // page × 4096 + 4096 passes 2^44, not 2^32
      {1, 0xFFFFFFFF, false},
  };
  for (const auto& place : places) {
    for (const auto op : {RDE_OP_OBJECT_READ, RDE_OP_OBJECT_STAT}) {
      auto request = request_of(static_cast<std::uint8_t>(op));
      request.buffer_page = static_cast<std::uint32_t>(place.page);
      request.length = static_cast<std::uint32_t>(place.length);
      CAPTURE(place.page);
      CAPTURE(place.length);
      REQUIRE(raw.answer(request) == (place.inside ? Status::ok : Status::buffer_out_of_range));
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "a buffer of no length is refused where one is needed") {
  for (const auto op : {RDE_OP_CAPABILITIES, RDE_OP_CONNECT, RDE_OP_OBJECT_READ, RDE_OP_OBJECT_STAT}) {
    auto request = request_of(static_cast<std::uint8_t>(op));
    request.length = 0;
    CHECK(raw.answer(request) == Status::length_zero);
  }
}

TEST_CASE_FIXTURE(Fixture, "CAPABILITIES needs room for the whole answer, and PING takes a mebibyte at most") {
  auto request = request_of(RDE_OP_CAPABILITIES);
  request.length = sizeof(rde_capabilities) - 1;
  CHECK(raw.answer(request) == Status::buffer_too_small);
  request.length = sizeof(rde_capabilities);
  CHECK(raw.answer(request) == Status::ok);

  request = request_of(RDE_OP_PING);
  request.length = 1 << 20;
  CHECK(raw.answer(request) == Status::ok);
  request.length = (1 << 20) + 1;
  CHECK(raw.answer(request) == Status::transfer_too_large);
  request.length = 4096;
  request.buffer_page = static_cast<std::uint32_t>(arena_pages());
  CHECK(raw.answer(request) == Status::buffer_out_of_range);
}

TEST_CASE_FIXTURE(Fixture, "a handle that names nothing is passed on with its own status") {
  for (const Status status : {Status::invalid_handle, Status::stale_handle, Status::peer_down}) {
    rig.on_shard([&](FakeIo& io) { io.peer_status = status; });
    for (const std::uint64_t handle : {std::uint64_t{1}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
      for (const auto op : {RDE_OP_OBJECT_READ, RDE_OP_OBJECT_STAT, RDE_OP_DISCONNECT}) {
        auto request = request_of(static_cast<std::uint8_t>(op));
        request.handle = handle;
        REQUIRE(raw.answer(request) == status);
      }
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "the largest offset is handed on as it is; the source knows the object's end") {
  CHECK(raw.answer(with(request_of(RDE_OP_OBJECT_READ), rde_object_args{1, 1, 1, ~std::uint64_t{0}})) == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "what is not HOST:PORT is refused before anything is begun") {
  const auto connect = [&](std::string_view text) {
    auto request = request_of(RDE_OP_CONNECT);
    request.length = static_cast<std::uint32_t>(text.size());
    std::memcpy(raw.view().arena().data(), text.data(), text.size());
    return raw.answer(request);
  };
  using namespace std::string_view_literals;
  for (const auto text : {"x"sv, "host"sv, "host:0"sv, "host:65536"sv, ":1"sv, "::1:5"sv, "host:1\n"sv, "host\0x:1"sv,
                          "\0"sv, "127.0.0.1:18515\0"sv}) {
    CAPTURE(text);
    CHECK(connect(text) == Status::invalid_address);
  }
  CHECK(connect(std::string(301, 'a')) == Status::invalid_address);
}

TEST_CASE_FIXTURE(Fixture, "an operation with the tag of its own target is a duplicate") {
  rig.on_shard([](FakeIo& io) { io.automatic = false; });
  raw.send(request_of(RDE_OP_OBJECT_READ, 5));
  auto cancel = with(request_of(RDE_OP_CANCEL, 5), rde_cancel_args{5, {}});
  CHECK(raw.answer(cancel) == Status::duplicate_tag);
  cancel.tag = 6;
  raw.send(cancel);
  CHECK(raw.next().tag == 5);
  CHECK(raw.next().tag == 6);
}

TEST_CASE_FIXTURE(Fixture, "every tag is the client's own choice") {
  for (const std::uint64_t tag : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    raw.send(request_of(RDE_OP_OBJECT_READ, tag));
    const auto done = raw.next();
    CHECK(done.tag == tag);
    CHECK(Status{done.status} == Status::ok);
  }
}
