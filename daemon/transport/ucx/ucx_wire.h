// What UcxTransports say to each other: four active messages, their headers little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/transport.h"

namespace rde {

enum UcxMessageId : unsigned {
  kUcxHello = 0,    // UcxHello, from both sides, first
  kUcxMessage = 1,  // UcxMessageHead, then the message
  kUcxDeliver = 2,  // UcxDeliverHead, then the payload
  kUcxBye = 3,      // no header: nothing follows
};

constexpr std::uint32_t kUcxMagic = 0x4C454452;  // "RDEL"
constexpr std::uint32_t kUcxWireVersion = 1;

struct UcxHello {
  std::uint32_t magic;
  std::uint32_t version;
};
static_assert(sizeof(UcxHello) == 8);

struct UcxMessageHead {
  std::uint32_t sequence;  // 0, 1, 2, … : order is checked, because UCX does not promise it
  std::uint32_t reserved;  // zero
};
static_assert(sizeof(UcxMessageHead) == 8);

struct UcxDeliverHead {
  std::uint64_t serial;  // LandingKey::address
  std::uint32_t slot;    // LandingKey::key
  std::uint32_t header_length;
  std::array<std::byte, Link::kMaxHeader> header;
};
static_assert(sizeof(UcxDeliverHead) == 16 + Link::kMaxHeader);

}  // namespace rde
