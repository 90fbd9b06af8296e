// What UcxTransports say to each other: a knock at the door over a plain socket, then four active
// messages of UCX. All little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "transport/transport.h"

namespace rde {

enum UcxMessageId : unsigned {
  kUcxHello = 0,    // UcxHello, from both sides, first
  kUcxMessage = 1,  // UcxMessageHead, then the message
  kUcxDeliver = 2,  // UcxDeliverHead, then the payload
  kUcxBye = 3,      // no header: nothing follows
};

constexpr std::uint64_t kUcxKnockMagic = 0x4B434F4E4B454452;  // "RDEKNOCK"

struct UcxKnock {
  std::uint64_t magic;
  std::uint32_t version;  // kUcxWireVersion
  std::uint32_t reserved;
  std::array<char, 16> ucx_version;  // zero-padded
};
static_assert(sizeof(UcxKnock) == 32);

struct UcxAnswer {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint16_t port;    // where UCX listens just now; 0 with a status
  std::uint16_t status;  // 0, or why not
  std::array<char, 16> ucx_version;
};
static_assert(sizeof(UcxAnswer) == 32);

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

// The version of the library that runs.
void put_ucx_version(std::array<char, 16>& to);
// The same from a peer: what is printable of it.
std::string ucx_version_of(const std::array<char, 16>& from);

}  // namespace rde
