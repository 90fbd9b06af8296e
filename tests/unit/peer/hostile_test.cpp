// Peers that break the rules: told why, dropped, and nobody else notices.
#include "engines.h"

using namespace rde;
using namespace rde::test;

namespace {

// Speaks to the storage engine by hand.
struct Stranger {
  Engines engines;
  SimTransport transport;
  Ends ends;
  Arena arena{2 << 20};
  Memory* memory;
  Link* link;
  std::uint64_t engine = 99;

  explicit Stranger(const PeerOptions& of_storage = options_of(1), const SocketAddress& from = SimTransport::loopback())
      : engines(of_storage), transport(engines.fabric, from) {
    engines.source.put(7, 1, pattern(4096, 1));
    memory = *transport.add_memory(arena.bytes());
    link = *transport.connect(engines.where, ends);
    step_until([&] { return !ends.up.empty() || !ends.down.empty(); });
  }
  void step() {
    engines.step();
    transport.progress(engines.time);
  }
  template <class Condition>
  void step_until(Condition condition) {
    for (int turns = 0; !condition(); ++turns) {
      REQUIRE_MESSAGE(turns < 100'000, "the watchdog ended a wait");
      step();
    }
  }
  template <class M>
  void send(const M& message) {
    link->send(wire::bytes_of(message));
  }
  void greet() {
    auto options = options_of(engine);
    Handshake handshake(wire::kConnector, options, *make_nonce(), true);
    send(handshake.hello());
    step_until([&] { return ends.messages.size() >= 2; });  // HELLO, READY
  }
  wire::RequestMessage request(std::uint64_t id) {
    const auto key = link->post_landing(id, arena.bytes().first(4096), *memory);
    return {.head = wire::head_of<wire::RequestMessage>(wire::kRead),
            .id = id,
            .needle = 1,
            .volume = 7,
            .length = 4096,
            .landing_key = key->key,
            .landing_address = key->address};
  }
  // Waits for the end; answers what the engine said about it.
  std::string fate() {
    step_until([&] { return !ends.down.empty(); });
    wire::ErrorMessage error{};
    for (const auto& message : ends.messages) {
      if (message.size() == sizeof(error)) std::memcpy(&error, message.data(), sizeof(error));
    }
    CHECK(engines.source.waiting() == 0);
    step_until([&] { return engines.storage->responder().sessions() == 0; });
    CHECK(engines.storage->responder().active() == 0);
    // The engine goes on serving others.
    engines.join();
    TestJob job;
    engines.read(job, 1, 4096);
    engines.until([&] { return job.done == 1; });
    CHECK(job.status == Status::ok);
    return std::string(wire::text_of(error.text));
  }
};

}  // namespace

TEST_CASE("a read before the greeting is refused") {
  Stranger stranger;
  stranger.send(stranger.request(1));
  CHECK(stranger.fate() == "message.type is 5, while this engine waits for HELLO");
}

TEST_CASE("a read before the proof is refused") {
  auto options = options_of(1, "the key of the engine");
  Engines engines(options, options_of(2, "the key of the engine"));
  SimTransport transport(engines.fabric);
  Ends ends;
  Link* link = *transport.connect(engines.where, ends);
  const auto step = [&] {
    engines.step();
    transport.progress(engines.time);
  };
  while (ends.up.empty()) step();
  auto mine = options_of(9, "the key of the engine");
  Handshake handshake(wire::kConnector, mine, *make_nonce(), true);
  link->send(wire::bytes_of(handshake.hello()));
  link->send(
      wire::bytes_of(wire::RequestMessage{.head = wire::head_of<wire::RequestMessage>(wire::kRead), .length = 1}));
  while (ends.down.empty()) step();
  CHECK(engines.source.seen.empty());
  engines.join();
  CHECK(engines.gateway->state(engines.peer) == Status::ok);
}

TEST_CASE("engines with different keys do not become peers, and both know why") {
  Engines engines(options_of(1, "one key"), options_of(2, "another key"));
  Opened opened;
  REQUIRE(engines.gateway->open(engines.where, &opened));
  engines.until([&] { return opened.statuses.size() == 1; });
  CHECK(opened.statuses[0] == Status::authentication_failed);
  CHECK(engines.storage->counts().refused_peers == 1);
}

TEST_CASE("without a key a peer from elsewhere is refused, and told so") {
  Stranger stranger(options_of(1), *resolve({"192.0.2.7", 0}));
  CHECK(stranger.fate().find("not on loopback") != std::string::npos);
}

TEST_CASE("without a key nobody listens on, or connects to, an address that is not loopback") {
  Engines engines;
  const auto elsewhere = *resolve({"192.0.2.7", 18515});
  CHECK(engines.gateway->open(elsewhere, nullptr).error().status == Status::peer_not_allowed);
  CHECK(engines.gateway->listen(elsewhere).error().status == Status::peer_not_allowed);
}

TEST_CASE("who connects and stays silent is dropped") {
  Stranger stranger;
  const Nanoseconds begin = stranger.engines.time;
  stranger.engines.tick = kMillisecond;
  CHECK(stranger.fate() == "the peer did not finish its greeting in time");
  CHECK(stranger.engines.time - begin >= 5 * kSecond);
}

TEST_CASE("bytes that are no message are refused") {
  for (const std::size_t size : {1UL, 7UL, 8UL, 64UL, 4096UL}) {
    CAPTURE(size);
    Stranger stranger;
    stranger.greet();
    stranger.link->send(pattern(size, static_cast<unsigned>(size)));
    CHECK_FALSE(stranger.fate().empty());
  }
}

TEST_CASE("an acceptor takes only what a connector may send") {
  for (const auto type :
       std::initializer_list<std::uint16_t>{wire::kHello, wire::kAuth, wire::kReady, wire::kVolumes, wire::kCredit}) {
    CAPTURE(type);
    Stranger stranger;
    stranger.greet();
    stranger.send(wire::PingMessage{{type, sizeof(wire::PingMessage), 0}, 0});
    CHECK(stranger.fate().find("message.type is " + std::to_string(type)) == 0);
  }
}

TEST_CASE("who asks for more than its credits is dropped") {
  auto options = options_of(1);
  options.credits = 8;
  Stranger stranger(options);
  stranger.greet();
  stranger.engines.source.holds = true;
  for (std::uint64_t id = 1; id <= 8; ++id) stranger.send(stranger.request(id));
  for (int i = 0; i < 100; ++i) stranger.step();
  CHECK(stranger.ends.down.empty());
  CHECK(stranger.engines.source.waiting() == 8);
  stranger.send(stranger.request(9));
  stranger.step_until([&] { return !stranger.ends.down.empty(); });
  stranger.engines.source.holds = false;
  CHECK(stranger.fate() == "request 9 is over the 8 credits");
}

TEST_CASE("an id that is in use cannot be used again") {
  Stranger stranger;
  stranger.greet();
  stranger.engines.source.holds = true;
  const auto request = stranger.request(1);
  stranger.send(request);
  stranger.send(request);
  stranger.step_until([&] { return !stranger.ends.down.empty(); });
  stranger.engines.source.holds = false;
  CHECK(stranger.fate() == "request.id 1 is in use");
}

TEST_CASE("a request longer than a slice is answered transfer_too_large") {
  Stranger stranger;
  stranger.greet();
  auto request = stranger.request(1);
  request.length = (1 << 20) + 1;
  stranger.send(request);
  stranger.step_until([&] { return stranger.ends.landed.contains(1); });
  wire::DataHeader data;
  REQUIRE(stranger.ends.landed[1].header.size() == sizeof(data));
  std::memcpy(&data, stranger.ends.landed[1].header.data(), sizeof(data));
  CHECK(data.status == static_cast<std::uint16_t>(Status::transfer_too_large));
  CHECK(stranger.ends.down.empty());
}

TEST_CASE("a landing that does not exist costs nobody anything") {
  Stranger stranger;
  stranger.greet();
  auto request = stranger.request(1);
  request.landing_address += 1000;
  stranger.send(request);
  for (int i = 0; i < 1000; ++i) stranger.step();
  CHECK(stranger.ends.landed.empty());
  CHECK(stranger.engines.storage->responder().active() == 0);
  CHECK(stranger.engines.storage->responder().staging_in_use() == 0);
}

TEST_CASE("cancelling what was never asked gives a credit back and nothing else") {
  Stranger stranger;
  stranger.greet();
  stranger.send(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCancel), 12345});
  const auto is_credit = [](const std::string& message) {
    wire::IdMessage credit{};
    if (message.size() == sizeof(credit)) std::memcpy(&credit, message.data(), sizeof(credit));
    return credit.head.type == wire::kCredit && credit.id == 12345;
  };
  stranger.step_until([&] { return is_credit(stranger.ends.messages.back()); });
  CHECK(stranger.ends.down.empty());
}

TEST_CASE("an acceptor that answers wrongly is dropped by the reader, and the job ends") {
  // Plays the storage engine.
  struct Liar final : LinkObserver, LinkAcceptor {
    enum class Lie { data_id, data_size, data_garbage, credit, ready_twice, volumes_first, unknown };
    Lie lie = Lie::data_id;
    Memory* memory = nullptr;
    PeerOptions options = options_of(50);
    std::optional<Handshake> handshake;
    bool is_down = false;
    virtual ~Liar() = default;
    void on_up(Link& link) override {
      handshake.emplace(wire::kAcceptor, options, *make_nonce(), link.remote().is_loopback());
    }
    void on_message(Link& link, std::span<const std::byte> message) override {
      if (!handshake->is_done()) {
        REQUIRE(handshake->on_message(message));
        link.send(wire::bytes_of(handshake->hello()));
        const wire::ReadyMessage ready{wire::head_of<wire::ReadyMessage>(wire::kReady), 8, 1 << 20, 0, 0, 0};
        const wire::VolumesMessage volumes{wire::head_of<wire::VolumesMessage>(wire::kVolumes), 0, 0, 0, 0, 0};
        if (lie == Lie::volumes_first) link.send(wire::bytes_of(volumes));
        link.send(wire::bytes_of(ready));
        return;
      }
      const auto head = wire::parse_head(message);
      if (head->type != wire::kRead) return;
      const auto read = *wire::parse_request(message);
      const LandingKey key{read.landing_address, read.landing_key, read.length};
      wire::DataHeader data{.magic = wire::kDataMagic, .id = read.id, .bytes = 100, .object_size = 100};
      if (lie == Lie::data_id) ++data.id;
      if (lie == Lie::data_size) ++data.bytes;
      if (lie == Lie::data_garbage) data.flags = 0xFFFF;
      if (lie == Lie::credit)
        link.send(wire::bytes_of(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCredit), read.id}));
      if (lie == Lie::ready_twice) {
        link.send(
            wire::bytes_of(wire::ReadyMessage{wire::head_of<wire::ReadyMessage>(wire::kReady), 8, 1 << 20, 0, 0, 0}));
      }
      if (lie == Lie::unknown) link.send(wire::bytes_of(wire::GoodbyeMessage{{77, sizeof(wire::GoodbyeMessage), 0}}));
      link.deliver(read.id, key, wire::bytes_of(data), memory->bytes().first(100), *memory, nullptr);
    }
    void on_landed(Link&, std::uint64_t, std::span<const std::byte>, std::uint32_t, Status) override {}
    void on_delivered(Link&, void*, Status) override {}
    void on_down(Link&, const Error&) override { is_down = true; }
    LinkObserver* on_accept(Link&) override { return this; }
  };
  for (int lie = 0; lie <= static_cast<int>(Liar::Lie::unknown); ++lie) {
    CAPTURE(lie);
    SimFabric fabric;
    SimTransport liar_transport(fabric), transport(fabric);
    Liar liar;
    liar.lie = static_cast<Liar::Lie>(lie);
    Arena arena(2 << 20), liar_arena(2 << 20);
    liar.memory = *liar_transport.add_memory(liar_arena.bytes());
    const auto where = *liar_transport.listen(*resolve({"127.0.0.1", 0}), liar);
    auto hub = *PeerHub::create({transport, nullptr, nullptr, {}}, options_of(2));
    Memory* memory = *transport.add_memory(arena.bytes());
    const Handle peer = *hub->add_static(where);
    Nanoseconds time = kSecond;
    TestJob job;
    bool submitted = false;
    for (int i = 0; i < 2000 && !liar.is_down; ++i) {
      time += 2 * kMicrosecond;
      liar_transport.progress(time);
      hub->progress(time);
      if (!submitted && hub->state(peer) == Status::ok) {
        submitted = true;
        job.id = {7, 1, 0};
        job.destination = arena.bytes().first(100);
        hub->submit(peer, job, *memory);
      }
    }
    for (int i = 0; i < 100; ++i) hub->progress(time += 2 * kMicrosecond), liar_transport.progress(time);
    CHECK(liar.is_down);
    CHECK(job.done == (submitted ? 1 : 0));
    if (submitted) CHECK(job.status != Status::ok);
    CHECK(hub->state(peer) == Status::peer_down);
    CHECK(hub->counts().refused_peers >= 1);
    hub.reset();
  }
}
