// What VerbsTransports say to each other: a hello in the private data of the connection, then frames in SENDs. A
// frame is a head, the landings that its sender grants, and a body. All little-endian; the receiver checks every field.
//
//   requester                                 owner
//     message + grant {slot, serial, addr} ──►  deliver(): up to kEagerPayload bytes
//                                           ◄── whole {slot, serial, header} + payload
//                                               or more of them
//                                           ◄── begin {slot, serial, header}
//                                           ◄── RDMA WRITE … WRITE_WITH_IMM(slot), into the landing itself
//     withdraw_landing(): revoke {slot, serial} ►
//                                           ◄── revoked {slot, serial}, or the delivery that had begun
//
// A SEND and a WRITE_WITH_IMM take one receive of the other side each, so each costs a credit.
#pragma once

#include <array>
#include <cstdint>

#include "transport/transport.h"

namespace rde {

constexpr std::uint32_t kVerbsMagic = 0x56454452;  // "RDEV"
constexpr std::uint16_t kVerbsWireVersion = 1;

// 56 bytes is what rdma_cm leaves to a connection request over IPv4 and IPv6.
struct VerbsHello {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t receives;     // posted: the credits that the other side begins with
  std::uint32_t frame_bytes;  // of each
  std::uint8_t path_mtu;      // enum ibv_mtu; the acceptor's is the one that both take
  std::array<std::uint8_t, 3> reserved;
};
static_assert(sizeof(VerbsHello) == 16);

enum class FrameKind : std::uint8_t { message = 1, whole = 2, begin = 3, revoke = 4, revoked = 5, credit = 6, bye = 7 };

struct FrameHead {
  FrameKind kind;
  std::uint8_t reserved;
  std::uint16_t grants;   // VerbsGrant, right behind the head
  std::uint16_t credits;  // receives that were posted again
  std::uint16_t length;   // of the body behind the grants
};
static_assert(sizeof(FrameHead) == 8);

// A landing that the other side may write once.
struct VerbsGrant {
  std::uint64_t serial;
  std::uint64_t address;
  std::uint32_t rkey;
  std::uint32_t length;
  std::uint32_t slot;
  std::uint32_t reserved;
};
static_assert(sizeof(VerbsGrant) == 32);

// Body of revoke and revoked.
struct LandingName {
  std::uint64_t serial;
  std::uint32_t slot;
  std::uint32_t reserved;
};
static_assert(sizeof(LandingName) == 16);

// Body of begin; of whole too, with the payload behind it.
struct DeliveryHead {
  std::uint64_t serial;
  std::uint32_t slot;
  std::uint32_t bytes;
  std::uint32_t header_length;
  std::uint32_t reserved;
  std::array<std::byte, Link::kMaxHeader> header;
};
static_assert(sizeof(DeliveryHead) == 24 + Link::kMaxHeader);

// A payload of up to so much travels in the frame and is copied out: cheaper than a WRITE and a second completion.
constexpr std::size_t kEagerPayload = 4096;
constexpr std::size_t kFrameBytes = 4608;
constexpr std::size_t kMaxGrantsInFrame = 8;
static_assert(sizeof(FrameHead) + kMaxGrantsInFrame * sizeof(VerbsGrant) + Link::kMaxMessage <= kFrameBytes);
static_assert(sizeof(FrameHead) + sizeof(DeliveryHead) + kEagerPayload <= kFrameBytes);

}  // namespace rde
