#include "peer/auth.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace rde {
namespace {

constexpr std::string_view kLabel = "rdma-engine peer 1";

}  // namespace

Result<Nonce> make_nonce() {
  Nonce nonce{};
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    return system_error("random bytes for a nonce", errno);
  }
  return nonce;
}

Proof prove(std::span<const std::byte> key, wire::Role who, const wire::HelloMessage& connector,
            const wire::HelloMessage& acceptor) {
  std::array<unsigned char, kLabel.size() + 1 + 2 * sizeof(wire::HelloMessage)> text{};
  unsigned char* at = text.data();
  std::memcpy(at, kLabel.data(), kLabel.size());
  at += kLabel.size();
  *at++ = who;
  std::memcpy(at, &connector, sizeof(connector));
  std::memcpy(at + sizeof(connector), &acceptor, sizeof(acceptor));
  Proof proof{};
  unsigned length = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(), proof.data(), &length);
  return proof;
}

bool is_proof(const Proof& proof, std::span<const std::byte> key, wire::Role who, const wire::HelloMessage& connector,
              const wire::HelloMessage& acceptor) {
  const Proof expected = prove(key, who, connector, acceptor);
  return CRYPTO_memcmp(proof.data(), expected.data(), proof.size()) == 0;
}

}  // namespace rde
