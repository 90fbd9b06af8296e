// SHA-256, piece by piece.
//
//   Sha256 hash;
//   hash.add(first);
//   hash.add(second);
//   Sha256::Digest digest = hash.finish();        // and ready for the next
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace rde::tools {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  Sha256() : context_(EVP_MD_CTX_new()) { restart(); }

  void restart() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }
  Digest finish() {
    Digest digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    restart();
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

}  // namespace rde::tools
