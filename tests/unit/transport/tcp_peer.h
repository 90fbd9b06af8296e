// What tcp_process_test.cpp and its other process agree on.
#pragma once

#include <cstdint>

#include "transport/transport.h"

namespace rde::test {

struct Ask {
  std::uint64_t id;
  LandingKey key;
};

constexpr std::size_t kPeerArena = 16 << 20;
constexpr unsigned kPeerSeed = 77;

}  // namespace rde::test
