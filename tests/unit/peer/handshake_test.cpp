// Greeting and proof, message by message.
#include "peer/handshake.h"

#include <doctest/doctest.h>

#include "engines.h"

using namespace rde;
using namespace rde::test;

namespace {

struct Greeting {
  PeerOptions of_connector;
  PeerOptions of_acceptor;
  Handshake connector;
  Handshake acceptor;

  explicit Greeting(std::string_view connector_key = "a shared secret",
                    std::string_view acceptor_key = "a shared secret", bool is_loopback = false)
      : of_connector(options_of(1, connector_key)),
        of_acceptor(options_of(2, acceptor_key)),
        connector(wire::kConnector, of_connector, *make_nonce(), is_loopback),
        acceptor(wire::kAcceptor, of_acceptor, *make_nonce(), is_loopback) {}
};

template <class M>
std::vector<std::byte> copy_of(const M& message) {
  const auto bytes = wire::bytes_of(message);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("two sides with one key come to know each other") {
  Greeting g;
  auto step = g.acceptor.on_message(wire::bytes_of(g.connector.hello()));
  REQUIRE(step);
  CHECK(step->send_hello);
  CHECK_FALSE(step->send_auth);  // no proof for a stranger
  step = g.connector.on_message(wire::bytes_of(g.acceptor.hello()));
  REQUIRE(step);
  CHECK(step->send_auth);
  CHECK_FALSE(g.connector.is_done());
  step = g.acceptor.on_message(wire::bytes_of(step->auth));
  REQUIRE(step);
  CHECK(g.acceptor.is_done());
  CHECK(step->send_auth);
  step = g.connector.on_message(wire::bytes_of(step->auth));
  REQUIRE(step);
  CHECK(g.connector.is_done());
  CHECK(wire::text_of(g.connector.theirs().engine_version) == "0.1.0");
}

TEST_CASE("without a key two loopback sides need no proof") {
  Greeting g("", "", true);
  CHECK(g.connector.may_begin());
  REQUIRE(g.acceptor.on_message(wire::bytes_of(g.connector.hello())));
  REQUIRE(g.connector.on_message(wire::bytes_of(g.acceptor.hello())));
  CHECK(g.acceptor.is_done());
  CHECK(g.connector.is_done());
}

TEST_CASE("without a key a peer that is not on loopback may not even say hello") {
  Greeting g("", "", false);
  CHECK(g.acceptor.may_begin().error().status == Status::peer_not_allowed);
  CHECK(g.connector.may_begin().error().text.find("--psk-file") != std::string::npos);
}

TEST_CASE("another key is authentication_failed") {
  Greeting g("a shared secret", "a shared secreT");
  REQUIRE(g.acceptor.on_message(wire::bytes_of(g.connector.hello())));
  const auto step = g.connector.on_message(wire::bytes_of(g.acceptor.hello()));
  const auto refused = g.acceptor.on_message(wire::bytes_of(step->auth));
  CHECK(refused.error().status == Status::authentication_failed);
  CHECK_FALSE(g.acceptor.is_done());
}

TEST_CASE("a key on one side only is named as such on both") {
  Greeting g("a shared secret", "", true);
  CHECK(g.acceptor.on_message(wire::bytes_of(g.connector.hello())).error().text.find("only the other side") !=
        std::string::npos);
  CHECK(g.connector.on_message(wire::bytes_of(g.acceptor.hello())).error().status == Status::authentication_failed);
}

TEST_CASE("a greeting that is sent back to its maker is refused") {
  Greeting g;
  CHECK(g.connector.on_message(wire::bytes_of(g.connector.hello())).error().status == Status::protocol_error);
  auto turned = g.acceptor.hello();
  turned.role = wire::kConnector;
  CHECK(g.acceptor.on_message(wire::bytes_of(turned)).error().text.find("reflected") != std::string::npos);
}

TEST_CASE("a proof that is sent back to its maker is refused") {
  Greeting g;
  const auto step = g.connector.on_message(wire::bytes_of(g.acceptor.hello()));
  REQUIRE(step);
  CHECK(g.connector.on_message(wire::bytes_of(step->auth)).error().status == Status::authentication_failed);
}

TEST_CASE("a proof of another connection is refused") {
  Greeting first, second;
  REQUIRE(first.acceptor.on_message(wire::bytes_of(first.connector.hello())));
  const auto step = first.connector.on_message(wire::bytes_of(first.acceptor.hello()));
  REQUIRE(second.acceptor.on_message(wire::bytes_of(first.connector.hello())));  // replayed
  CHECK(second.acceptor.on_message(wire::bytes_of(step->auth)).error().status == Status::authentication_failed);
}

TEST_CASE("a proof covers every byte of both greetings") {
  const std::vector<std::byte> key(16, std::byte{5});
  const auto hello = Greeting{}.connector.hello();
  const Proof proof = prove(key, wire::kConnector, hello, hello);
  for (std::size_t i = 0; i < sizeof(hello); ++i) {
    auto changed = hello;
    reinterpret_cast<std::byte*>(&changed)[i] ^= std::byte{1};
    CHECK_FALSE(is_proof(proof, key, wire::kConnector, changed, hello));
    CHECK_FALSE(is_proof(proof, key, wire::kConnector, hello, changed));
  }
  CHECK_FALSE(is_proof(proof, key, wire::kAcceptor, hello, hello));
  CHECK(is_proof(proof, key, wire::kConnector, hello, hello));
}

TEST_CASE("a proof with any bit changed is refused") {
  for (std::size_t i = 0; i < 32; ++i) {
    Greeting g;
    REQUIRE(g.acceptor.on_message(wire::bytes_of(g.connector.hello())));
    auto step = g.connector.on_message(wire::bytes_of(g.acceptor.hello()));
    step->auth.proof[i] ^= static_cast<std::uint8_t>(1U << (i & 7));
    CHECK_FALSE(g.acceptor.on_message(wire::bytes_of(step->auth)));
  }
}

TEST_CASE("another version is named on both sides") {
  Greeting g;
  auto hello = g.connector.hello();
  for (const auto major : std::initializer_list<std::uint16_t>{0, 2, 65'535}) {
    Greeting fresh;
    hello.major = major;
    const auto refused = fresh.acceptor.on_message(wire::bytes_of(hello));
    CHECK(refused.error().status == Status::peer_version);
    CHECK(refused.error().text.find("hello.major is " + std::to_string(major)) != std::string::npos);
    CHECK(refused.error().text.find("version 1.0") != std::string::npos);
  }
}

TEST_CASE("a required feature that is unknown refuses, an optional one does not") {
  Greeting g("", "", true);
  auto hello = g.connector.hello();
  hello.optional_features = ~0ULL;
  hello.minor = 999;
  CHECK(g.acceptor.on_message(wire::bytes_of(hello)));
  Greeting h("", "", true);
  hello.required_features = 2;
  CHECK(h.acceptor.on_message(wire::bytes_of(hello)).error().status == Status::peer_version);
}

TEST_CASE("an engine does not become its own peer") {
  Greeting g("", "", true);
  auto hello = g.connector.hello();
  hello.engine = 2;
  CHECK(g.acceptor.on_message(wire::bytes_of(hello)).error().status == Status::invalid_address);
}

TEST_CASE("greetings cut at any byte, or followed by one more, are refused") {
  const auto hello = copy_of(Greeting{}.connector.hello());
  for (std::size_t cut = 0; cut < hello.size(); ++cut) {
    for (const bool with_true_size : {true, false}) {
      Greeting g;
      std::vector<std::byte> part(hello.begin(), hello.begin() + static_cast<std::ptrdiff_t>(cut));
      const auto size = static_cast<std::uint16_t>(cut);
      if (with_true_size && cut >= 4) std::memcpy(part.data() + 2, &size, 2);
      CHECK_FALSE(g.acceptor.on_message(part));
    }
  }
  auto longer = hello;
  longer.push_back({});
  CHECK_FALSE(Greeting{}.acceptor.on_message(longer));
}

TEST_CASE("nothing else is read before the greeting is over") {
  for (std::uint16_t type = 0; type < 300; ++type) {
    if (type == wire::kHello) continue;
    Greeting g;
    auto hello = g.connector.hello();
    hello.head.type = type;
    CHECK(g.acceptor.on_message(wire::bytes_of(hello)).error().status == Status::protocol_error);
  }
}
