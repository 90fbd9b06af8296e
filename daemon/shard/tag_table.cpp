#include "shard/tag_table.h"

#include <random>

namespace rde {

std::uint64_t tag_seed() {
  static const std::uint64_t seed = [] {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }();
  return seed;
}

}  // namespace rde
