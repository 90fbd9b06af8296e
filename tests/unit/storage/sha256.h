// SHA-256 in hex, for comparing objects with what the server said.
#pragma once

#include <openssl/sha.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>

namespace rde::test {

inline std::string sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string text;
  for (const unsigned char byte : digest) {
    std::array<char, 3> digits;
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

}  // namespace rde::test
