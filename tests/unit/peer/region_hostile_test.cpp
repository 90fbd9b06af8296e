// Peers that break the rules of regions, in each role.
#include <array>

#include "engines.h"
#include "region/region_table.h"

using namespace rde;
using namespace rde::test;

namespace {

constexpr std::uint32_t kAll = RDE_REGION_RIGHT_READ | RDE_REGION_RIGHT_WRITE | RDE_REGION_RIGHT_ATOMIC;

// Speaks by hand to an engine whose client has exposed the middle of some memory.
struct Stranger {
  SimFabric fabric;
  SimTransport owner_transport{fabric};
  SimTransport transport{fabric};
  Arena staging{2 << 20};
  Arena exposed{2 << 20};
  Arena arena{2 << 20};
  RegionTable table{77};
  std::unique_ptr<PeerHub> owner;
  Ends ends;
  Memory* memory = nullptr;
  Link* link = nullptr;
  rde_region_token token{};
  Nanoseconds time = kSecond;

  Stranger() {
    owner = *PeerHub::create({owner_transport, nullptr, nullptr, staging.bytes(), &table}, options_of(1));
    memory = *transport.add_memory(arena.bytes());
    const auto where = owner->listen(*resolve({"127.0.0.1", 0}));
    link = *transport.connect(*where, ends);
    until([&] { return !ends.up.empty(); });
    const auto options = options_of(99);
    Handshake handshake(wire::kConnector, options, *make_nonce(), true);
    link->send(wire::bytes_of(handshake.hello()));
    until([&] { return ends.messages.size() == 2; });
    token =
        table
            .expose(
                {.owner = 5, .bytes = exposed.bytes().subspan(4096, 8192), .rights = kAll, .expires = kSecond * 1000})
            .token;
  }
  template <class Condition>
  void until(Condition condition) {
    for (int turns = 0; !condition(); ++turns) {
      REQUIRE_MESSAGE(turns < 100'000, "the watchdog ended a wait");
      time += 2 * kMicrosecond;
      owner->progress(time);
      transport.progress(time);
    }
  }
  wire::RegionWriteMessage write(std::uint64_t offset, std::uint32_t length) const {
    wire::RegionWriteMessage message{.head = wire::head_of<wire::RegionWriteMessage>(wire::kRegionWrite),
                                     .id = 1,
                                     .token = token,
                                     .offset = offset,
                                     .rest = length,
                                     .length = length};
    message.head.size = static_cast<std::uint16_t>(sizeof message + length);
    return message;
  }
  wire::RegionWordMessage word(std::uint64_t kind, std::uint64_t offset) const {
    return {.head = wire::head_of<wire::RegionWordMessage>(wire::kRegionWord),
            .id = 1,
            .token = token,
            .offset = offset,
            .kind = kind};
  }
  void send(const wire::RegionWriteMessage& message, std::size_t bytes) {
    std::vector<std::byte> whole(sizeof message + bytes, std::byte{0xEE});
    std::memcpy(whole.data(), &message, sizeof message);
    link->send(whole);
  }
  Status answer() {
    const auto before = ends.messages.size();
    until([&] { return ends.messages.size() > before || !ends.down.empty(); });
    wire::RegionDoneMessage done{};
    REQUIRE(ends.messages.back().size() == sizeof done);
    std::memcpy(&done, ends.messages.back().data(), sizeof done);
    CHECK(done.id == 1);
    return static_cast<Status>(done.status);
  }
  // The engine closes the link; answers what it said.
  std::string fate() {
    until([&] { return !ends.down.empty(); });
    wire::ErrorMessage error{};
    REQUIRE(ends.messages.back().size() == sizeof error);
    std::memcpy(&error, ends.messages.back().data(), sizeof error);
    return std::string(wire::text_of(error.text));
  }
  [[nodiscard]] bool is_untouched() const {
    return std::ranges::all_of(exposed.bytes(), [](std::byte b) { return b == std::byte{0}; });
  }
};

}  // namespace

TEST_CASE("no offset, length or rest reaches a byte beside the region") {
  Stranger stranger;
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  for (const std::uint64_t offset : {std::uint64_t{8192}, std::uint64_t{8191}, kMost, kMost - 99, kMost - 4096,
                                     std::uint64_t{1} << 63, std::uint64_t{8193}}) {
    for (const std::uint64_t rest : {std::uint64_t{100}, kMost, kMost - offset + 1, std::uint64_t{8192}}) {
      if (rest < 100) continue;
      auto message = stranger.write(offset, 100);
      message.rest = rest;
      stranger.send(message, 100);
      CHECK(stranger.answer() == Status::region_out_of_range);
    }
  }
  auto whole = stranger.write(0, 100);
  whole.rest = 8193;
  stranger.send(whole, 100);
  CHECK(stranger.answer() == Status::region_out_of_range);
  CHECK(stranger.is_untouched());
  CHECK(stranger.ends.down.empty());
}

TEST_CASE("a guessed key, a revoked region and a word that is not aligned are answered, and nothing is changed") {
  Stranger stranger;
  auto wrong = stranger.write(0, 8);
  wrong.token.key[3] ^= 0x10U;
  stranger.send(wrong, 8);
  CHECK(stranger.answer() == Status::region_not_found);
  stranger.link->send(wire::bytes_of(stranger.word(wire::kFetchAdd, 4)));
  CHECK(stranger.answer() == Status::region_misaligned);
  stranger.table.close(Handle::from(stranger.token.region), 5, RegionEnd::revoked);
  for (const auto kind : {wire::kFetchAdd, wire::kCompareSwap, wire::kLook}) {
    stranger.link->send(wire::bytes_of(stranger.word(kind, 0)));
    CHECK(stranger.answer() == Status::region_revoked);
  }
  CHECK(stranger.is_untouched());
  CHECK(stranger.ends.down.empty());
}

TEST_CASE("messages whose lengths do not fit are refused") {
  for (const std::size_t bytes : {0UL, 99UL, 101UL, 4000UL}) {
    CAPTURE(bytes);
    Stranger stranger;
    auto message = stranger.write(0, 100);
    message.head.size = static_cast<std::uint16_t>(sizeof message + bytes);
    stranger.send(message, bytes);
    CHECK(stranger.fate().starts_with("region write.size is"));
    CHECK(stranger.is_untouched());
  }
  Stranger stranger;
  auto message = stranger.write(0, 100);
  message.rest = 99;
  stranger.send(message, 100);
  CHECK(stranger.fate() == "region write.rest is 99, must be 100 to 18446744073709551615");
}

TEST_CASE("reserved and unknown fields of the messages of regions are refused") {
  const auto refused = [](auto change, const std::string& text) {
    Stranger stranger;
    auto word = stranger.word(wire::kLook, 0);
    change(word);
    stranger.link->send(wire::bytes_of(word));
    CHECK(stranger.fate() == text);
  };
  refused([](auto& word) { word.kind = 0; }, "region word.kind is 0, must be 1 to 3");
  refused([](auto& word) { word.kind = 4; }, "region word.kind is 4, must be 1 to 3");
  refused([](auto& word) { word.offset = 8; }, "region word.offset is 8, must be 0");
  refused([](auto& word) { word.compare = 1; }, "region word.compare is 1, must be 0");
  refused([](auto& word) { word.head.type = wire::kRegionDone; },
          "message.type is 16, which an acceptor does not take now");
  Stranger stranger;
  auto write = stranger.write(0, 8);
  write.reserved = 1;
  stranger.send(write, 8);
  CHECK(stranger.fate() == "region write.reserved is 1, must be 0");
}

TEST_CASE("a read of a region that is asked for twice with one id is refused, and a long one answered") {
  Stranger stranger;
  const auto key = stranger.link->post_landing(1, stranger.arena.bytes().first(4096), *stranger.memory);
  wire::RegionReadMessage read{.head = wire::head_of<wire::RegionReadMessage>(wire::kRegionRead),
                               .id = 1,
                               .token = stranger.token,
                               .rest = (1 << 20) + 1,
                               .length = (1 << 20) + 1,
                               .landing_key = key->key,
                               .landing_address = key->address};
  stranger.link->send(wire::bytes_of(read));
  stranger.until([&] { return stranger.ends.landed.contains(1); });
  wire::DataHeader data{};
  REQUIRE(stranger.ends.landed[1].header.size() == sizeof data);
  std::memcpy(&data, stranger.ends.landed[1].header.data(), sizeof data);
  CHECK(data.status == static_cast<std::uint16_t>(Status::transfer_too_large));
  CHECK(stranger.owner->responder().staging_in_use() == 0);

  read.rest = read.length = 4096;
  stranger.fabric.hold_transfers(1);
  stranger.link->send(wire::bytes_of(read));
  stranger.link->send(wire::bytes_of(read));
  CHECK(stranger.fate() == "request.id 1 is in use");
  stranger.fabric.hold_transfers(0);
}

TEST_CASE("an engine without regions refuses their messages") {
  Engines engines;
  SimTransport transport(engines.fabric);
  Ends ends;
  Link* link = *transport.connect(engines.where, ends);
  const auto until = [&](auto condition) {
    while (!condition()) engines.step(), transport.progress(engines.time);
  };
  until([&] { return !ends.up.empty(); });
  const auto options = options_of(99);
  Handshake handshake(wire::kConnector, options, *make_nonce(), true);
  link->send(wire::bytes_of(handshake.hello()));
  until([&] { return ends.messages.size() == 2; });
  wire::HelloMessage hello{};
  std::memcpy(&hello, ends.messages[0].data(), sizeof hello);
  CHECK(hello.optional_features == 0);
  link->send(wire::bytes_of(
      wire::RegionWordMessage{.head = wire::head_of<wire::RegionWordMessage>(wire::kRegionWord), .kind = wire::kLook}));
  until([&] { return !ends.down.empty(); });
  CHECK(ends.messages.size() == 3);
}

TEST_CASE("an owner that answers what was not asked is dropped, and the use ends") {
  enum class Lie : std::uint8_t { id, status, value, credit, landing };
  struct Job final : RegionJob {
    virtual ~Job() = default;
    void on_done() override { ++done; }
    unsigned done = 0;
  };
  struct Liar final : LinkObserver, LinkAcceptor {
    Lie lie = Lie::id;
    PeerOptions options = options_of(50);
    std::optional<Handshake> handshake;
    bool is_down = false;
    Liar() { options.features = wire::kRegions; }
    virtual ~Liar() = default;
    void on_up(Link&) override { handshake.emplace(wire::kAcceptor, options, *make_nonce(), true); }
    void on_message(Link& link, std::span<const std::byte> message) override {
      if (!handshake->is_done()) {
        REQUIRE(handshake->on_message(message));
        link.send(wire::bytes_of(handshake->hello()));
        link.send(
            wire::bytes_of(wire::ReadyMessage{wire::head_of<wire::ReadyMessage>(wire::kReady), 8, 1 << 20, 0, 0, 0}));
        return;
      }
      const auto head = wire::parse_head(message);
      if (head->type != wire::kRegionWord && head->type != wire::kRegionRead) return;
      wire::RegionDoneMessage done{.head = wire::head_of<wire::RegionDoneMessage>(wire::kRegionDone)};
      std::memcpy(&done.id, message.data() + sizeof done.head, sizeof done.id);
      if (lie == Lie::id) ++done.id;
      if (lie == Lie::status) done.status = 12'345;
      if (lie == Lie::value) done.status = 803, done.value = 1;
      if (lie == Lie::credit)
        return void(link.send(wire::bytes_of(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCredit), done.id})));
      link.send(wire::bytes_of(done));
    }
    void on_landed(Link&, std::uint64_t, std::span<const std::byte>, std::uint32_t, Status) override {}
    void on_delivered(Link&, void*, Status) override {}
    void on_down(Link&, const Error&) override { is_down = true; }
    LinkObserver* on_accept(Link&) override { return this; }
  };
  for (const Lie lie : {Lie::id, Lie::status, Lie::value, Lie::credit, Lie::landing}) {
    CAPTURE(static_cast<int>(lie));
    SimFabric fabric;
    SimTransport liar_transport(fabric), transport(fabric);
    Liar liar;
    liar.lie = lie;
    Arena arena(2 << 20);
    const auto where = *liar_transport.listen(*resolve({"127.0.0.1", 0}), liar);
    auto hub = *PeerHub::create({transport, nullptr, nullptr, {}}, options_of(2));
    Memory* memory = *transport.add_memory(arena.bytes());
    const Handle peer = *hub->add_static(where);
    Nanoseconds time = kSecond;
    const auto step = [&] {
      time += 2 * kMicrosecond;
      liar_transport.progress(time);
      hub->progress(time);
    };
    for (int i = 0; i < 2000 && hub->state(peer) != Status::ok; ++i) step();
    REQUIRE(hub->region_state(peer) == Status::ok);
    Job job;
    job.kind = lie == Lie::landing ? RegionJob::Kind::read : RegionJob::Kind::fetch_add;
    if (lie == Lie::landing) job.buffer = arena.bytes().first(100);
    hub->submit(peer, job, *memory);
    for (int i = 0; i < 2000 && !(liar.is_down && job.done == 1); ++i) step();
    CHECK(liar.is_down);
    CHECK(job.done == 1);
    CHECK(job.status == Status::peer_down);
    CHECK(hub->counts().refused_peers >= 1);
    hub.reset();
  }
}
