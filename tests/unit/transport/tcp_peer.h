// What tcp_process_test.cpp and verbs_process_test.cpp agree on with their other processes.
#pragma once

#include <cstdint>

#include "transport/transport.h"

namespace rde::test {

struct Ask {
  std::uint64_t id;
  LandingKey key;
};

constexpr std::size_t kPeerArena = 16 << 20;
constexpr std::size_t kVerbsArena = 4 << 20;  // an emulated machine moves and compares it
constexpr unsigned kPeerSeed = 77;

}  // namespace rde::test
