// The steady state allocates nothing. A program of its own, since it replaces operator new.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "rig.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}

void* counted(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace rde;
using namespace rde::test;

namespace {

// Sends `total` of the request, 32 at a time, and takes all answers; true when all were good.
bool send_all(Client& client, const rde_request& request, int total) {
  auto& channel = client.channel(0);
  bool good = true;
  for (int sent = 0; sent < total; sent += 32) {
    for (int i = 0; i < 32; ++i) good &= static_cast<bool>(channel.stage(request));
    channel.flush();
    for (int i = 0; i < 32; ++i) good &= next_completion(client).status == Status::ok;
  }
  return good;
}

}  // namespace

TEST_CASE("a hundred thousand NOPs and ten thousand reads allocate nothing, on any thread") {
  for (const auto mode : {PollMode::adaptive, PollMode::event}) {
    Rig rig({.mode = mode});
    rig.on_shard([](FakeIo& io) { io.automatic = true; });
    const auto client = rig.attach();
    const auto buffer = client->allocate(4096);
    const auto read = read_request(1, *buffer);
    // What is kept for use again is made now.
    REQUIRE(send_all(*client, nop_request(), 320));
    REQUIRE(send_all(*client, read, 320));
    rig.on_shard([](FakeIo&) {});
    const auto before = allocations.load();
    const bool nops = send_all(*client, nop_request(), 100'000);
    const bool reads = send_all(*client, read, 10'000);
    const auto after = allocations.load();
    CHECK(nops);
    CHECK(reads);
    CHECK(after == before);
  }
}

TEST_CASE("a hundred thousand sessions that are opened and closed allocate nothing") {
  Rig rig;
  const auto client = rig.attach();
  auto& channel = client->channel(0);
  rde_request open{};
  open.op = RDE_OP_SESSION_OPEN;
  const auto round = [&] {
    bool good = true;
    rde_request close{};
    close.op = RDE_OP_SESSION_CLOSE;
    const rde_session_close_args args{.result = RDE_SESSION_RESULT_DONE};
    std::memcpy(close.args, &args, sizeof args);
    for (int i = 0; i < 16; ++i) good &= static_cast<bool>(channel.stage(open));
    channel.flush();
    for (int i = 0; i < 16; ++i) {
      const auto opened = next_completion(*client);
      close.handle = opened.value;
      good &= opened.status == Status::ok && static_cast<bool>(channel.stage(close));
    }
    channel.flush();
    for (int i = 0; i < 16; ++i) good &= next_completion(*client).status == Status::ok;
    return good;
  };
  for (int i = 0; i < 50; ++i) REQUIRE(round());
  const auto before = allocations.load();
  bool good = true;
  for (int i = 0; i < 100'000 / 16; ++i) good &= round();
  const auto after = allocations.load();
  CHECK(good);
  CHECK(after == before);
}

TEST_CASE("deadlines, cancels and refusals allocate nothing either") {
  Rig rig;
  const auto client = rig.attach();
  const auto buffer = client->allocate(4096);
  auto& channel = client->channel(0);
  const auto round = [&] {
    bool good = true;
    const auto tag = channel.submit(read_request(1, *buffer));
    good &= static_cast<bool>(tag) && static_cast<bool>(channel.cancel(*tag));
    for (int i = 0; i < 3; ++i) good &= next_completion(*client).status != Status::internal;
    auto bad = read_request(1, *buffer);
    bad.length = 0;
    good &= static_cast<bool>(channel.submit(bad));
    good &= next_completion(*client).status == Status::length_zero;
    return good;
  };
  for (int i = 0; i < 50; ++i) REQUIRE(round());
  const auto before = allocations.load();
  bool good = true;
  for (int i = 0; i < 500; ++i) good &= round();
  const auto after = allocations.load();
  CHECK(good);
  CHECK(after == before);
}
