#include "peer/handshake.h"

#include <utility>

namespace rde {

Handshake::Handshake(wire::Role role, const PeerOptions& options, const Nonce& nonce, bool is_loopback)
    : role_(role), options_(options), is_loopback_(is_loopback) {
  ours_ = {.head = wire::head_of<wire::HelloMessage>(wire::kHello),
           .magic = wire::kMagic,
           .major = wire::kMajor,
           .minor = wire::kMinor,
           .role = role,
           .auth = options.psk.empty() ? wire::kNoKey : wire::kPresharedKey,
           .reserved = 0,
           .required_features = 0,
           .optional_features = options.features,
           .engine = options.engine,
           .nonce = nonce};
  wire::put_text(ours_.transport_version, options.transport_version);
  wire::put_text(ours_.engine_version, options.engine_version);
}

Result<void> Handshake::may_begin() const {
  if (is_loopback_ || !options_.psk.empty()) return {};
  return Error{Status::peer_not_allowed,
               "the peer is not on loopback and there is no pre-shared key; give both engines the same --psk-file"};
}

Result<Handshake::Step> Handshake::fail(Status status, std::string text) {
  state_ = State::failed;
  return Error{status, std::move(text)};
}

Result<Handshake::Step> Handshake::on_message(std::span<const std::byte> message) {
  const auto head = wire::parse_head(message);
  if (!head) return fail(head.error().status, head.error().text);
  if (state_ == State::awaits_hello && head->type == wire::kHello) return on_hello(message);
  if (state_ == State::awaits_auth && head->type == wire::kAuth) return on_auth(message);
  return fail(Status::protocol_error, "message.type is " + std::to_string(head->type) +
                                          ", while this engine waits for " +
                                          (state_ == State::awaits_hello ? "HELLO" : "AUTH"));
}

Result<Handshake::Step> Handshake::on_hello(std::span<const std::byte> message) {
  const auto hello = wire::parse_hello(message);
  if (!hello) {
    // Both versions, in one text for both sides.
    auto text = hello.error().text;
    if (hello.error().status == Status::peer_version) {
      text += "; this engine (" + options_.engine_version + ") speaks version " + std::to_string(wire::kMajor) + "." +
              std::to_string(wire::kMinor);
    }
    return fail(hello.error().status, std::move(text));
  }
  if (hello->role != their_role()) {
    return fail(Status::protocol_error, "hello.role is " + std::to_string(hello->role) + ", the same as ours");
  }
  if (hello->nonce == ours_.nonce) {
    return fail(Status::authentication_failed, "hello.nonce is our own: the greeting was reflected");
  }
  if (hello->engine == options_.engine) {
    return fail(Status::invalid_address, "the address is that of this engine itself; its volumes need no peer");
  }
  if (hello->auth != ours_.auth) {
    return fail(
        Status::authentication_failed,
        hello->auth == wire::kNoKey
            ? "hello.auth is 0: only one side has a pre-shared key; give both engines the same --psk-file"
            : "hello.auth is 1: only the other side has a pre-shared key; give both engines the same --psk-file");
  }
  theirs_ = *hello;
  Step step{.send_hello = role_ == wire::kAcceptor};
  if (options_.psk.empty()) {
    state_ = State::done;
    return step;
  }
  // The connector proves first: an acceptor answers no stranger with something to guess the key from.
  if (role_ == wire::kConnector) {
    step.send_auth = true;
    step.auth = {wire::head_of<wire::AuthMessage>(wire::kAuth), prove(options_.psk, role_, connector(), acceptor())};
  }
  state_ = State::awaits_auth;
  return step;
}

Result<Handshake::Step> Handshake::on_auth(std::span<const std::byte> message) {
  const auto auth = wire::parse_auth(message);
  if (!auth) return fail(auth.error().status, auth.error().text);
  if (!is_proof(auth->proof, options_.psk, their_role(), connector(), acceptor())) {
    return fail(Status::authentication_failed,
                "auth.proof does not fit our pre-shared key; give both engines the same --psk-file");
  }
  Step step;
  if (role_ == wire::kAcceptor) {
    step.send_auth = true;
    step.auth = {wire::head_of<wire::AuthMessage>(wire::kAuth), prove(options_.psk, role_, connector(), acceptor())};
  }
  state_ = State::done;
  return step;
}

}  // namespace rde
