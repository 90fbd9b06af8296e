// What engines say to each other about regions, between those whose HELLO has the feature kRegions. The bytes of a read
// come as those of an object do: by a delivery to a landing. Everything else lies in the messages themselves, so an
// owner holds no memory for what a peer may write, and has carried a message out before it looks at the next.
#pragma once

#include "peer/protocol.h"
#include "rde_layout.h"

namespace rde::wire {

enum WordKind : std::uint8_t {
  kFetchAdd = 1,
  kCompareSwap = 2,
  kLook = 3,  // nothing but the token: what came before it on the link is done once it is answered
};

struct RegionReadMessage {
  Head head;
  std::uint64_t id;  // as that of a READ
  rde_region_token token;
  std::uint64_t offset;  // in the region
  std::uint64_t rest;    // of the whole transfer from here on, not less than length; all of it must lie in the region
  std::uint32_t length;  // of the landing
  std::uint32_t budget_ms;  // until nobody wants the answer; 0 = no end
  std::uint16_t reserved;
  std::uint16_t flags;  // RequestFlag kBulk
  std::uint32_t landing_key;
  std::uint64_t landing_address;
};

struct RegionWriteMessage {  // `length` bytes follow
  Head head;
  std::uint64_t id;
  rde_region_token token;
  std::uint64_t offset;
  std::uint64_t rest;
  std::uint32_t length;
  std::uint32_t reserved;
};

struct RegionWordMessage {
  Head head;
  std::uint64_t id;
  rde_region_token token;
  std::uint64_t offset;
  std::uint64_t kind;     // WordKind
  std::uint64_t operand;  // what is added, or what the word becomes
  std::uint64_t compare;  // kCompareSwap: what it must be
};

struct RegionDoneMessage {  // the answer to REGION_WRITE and REGION_WORD
  Head head;
  std::uint64_t id;
  std::uint16_t status;
  std::uint16_t reserved0;
  std::uint32_t reserved1;
  std::uint64_t value;  // what the word was
};

static_assert(sizeof(RegionReadMessage) == 88);
static_assert(sizeof(RegionWriteMessage) == 72);
static_assert(sizeof(RegionWordMessage) == 80);
static_assert(sizeof(RegionDoneMessage) == 32);

constexpr std::uint32_t kRegionWriteBytes = Link::kMaxMessage - sizeof(RegionWriteMessage);

// As the others of protocol.h.
Result<RegionReadMessage> parse_region_read(std::span<const std::byte> message);
Result<RegionWriteMessage> parse_region_write(std::span<const std::byte> message);  // its bytes lie behind it
Result<RegionWordMessage> parse_region_word(std::span<const std::byte> message);
Result<RegionDoneMessage> parse_region_done(std::span<const std::byte> message);

}  // namespace rde::wire
