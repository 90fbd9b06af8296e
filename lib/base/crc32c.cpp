#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <array>

namespace rde {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli, reflected
constexpr std::uint32_t kOne = 0x80000000;         // x^0 in reflected order

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if (a & bit) product ^= b;
    b = (b & 1U) ? (b >> 1) ^ kPolynomial : b >> 1;
  }
  return product;
}

// kPowers[k] is x^(8 * 2^k) modulo the polynomial: what 2^k zero bytes multiply a remainder by.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, 64> powers{};
  std::uint32_t power = kOne >> 8;
  for (auto& entry : powers) {
    entry = power;
    power = multiply(power, power);
  }
  return powers;
}();

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t state = ~before;
  // ISA-L takes an int; a longer span goes in pieces.
  constexpr std::size_t kPiece = std::size_t{1} << 30;
  while (!bytes.empty()) {
    const auto piece = bytes.first(bytes.size() < kPiece ? bytes.size() : kPiece);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second, std::uint64_t second_length) {
  for (std::size_t k = 0; second_length != 0; ++k, second_length >>= 1) {
    if (second_length & 1U) first = multiply(first, kPowers[k]);
  }
  return first ^ second;
}

}  // namespace rde
