// Proof of a pre-shared key. Each side shows that it knows the key for this very connection: the proof
// covers both greetings, so both nonces, versions and features, and the role of who proves. A proof can
// therefore be neither replayed on another connection nor reflected to its maker.
//
//   auto proof = prove(key, wire::kConnector, their_hello, our_hello);
//   bool known = is_proof(*proof, key, wire::kConnector, connector_hello, acceptor_hello);
//
// It does not encrypt: who can change packets on the way can change what follows.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "peer/protocol.h"

namespace rde {

using Nonce = std::array<std::uint8_t, 32>;
using Proof = std::array<std::uint8_t, 32>;

// From the kernel's generator.
Result<Nonce> make_nonce();

// HMAC-SHA256 of a label, the role of who proves, and both greetings. `key` is not empty.
Proof prove(std::span<const std::byte> key, wire::Role who, const wire::HelloMessage& connector,
            const wire::HelloMessage& acceptor);

// Takes the same time whether or not `proof` is right.
bool is_proof(const Proof& proof, std::span<const std::byte> key, wire::Role who, const wire::HelloMessage& connector,
              const wire::HelloMessage& acceptor);

}  // namespace rde
