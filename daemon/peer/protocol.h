// What engines say to each other. Fixed little-endian structs; what is received is copied, then every
// field is checked before it is used.
//
//   auto head = parse_head(bytes);                         // whole? of a known type?
//   if (head->type == kRead) auto read = parse<RequestMessage>(bytes);
//
// Order on a link:   connector            acceptor
//                    HELLO  ─────────────►
//                           ◄─────────────  HELLO
//                    AUTH   ─────────────►            with a pre-shared key
//                           ◄─────────────  AUTH
//                           ◄─────────────  READY, VOLUMES …
//                    READ, STAT, CANCEL ─►            answered by a delivery with a DataHeader each
//                           ◄─────────────  CREDIT    for each CANCEL, when its request is over
//                    REGION_READ    ─────►            answered as READ
//                    REGION_WRITE, REGION_WORD ─►
//                           ◄─────────────  REGION_DONE  for each
// PING, PONG, ERROR and GOODBYE go both ways. Nothing but HELLO and AUTH (and ERROR) is read before the
// other side is known.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/status.h"
#include "transport/transport.h"

namespace rde::wire {

static_assert(std::endian::native == std::endian::little, "structs go to the wire as they lie in memory");

constexpr std::uint64_t kMagic = 0x5245'4550'4544'5252;  // "RRDEPEER"
constexpr std::uint16_t kMajor = 1;
constexpr std::uint16_t kMinor = 0;
constexpr std::uint64_t kRegions = 1;  // feature: REGION_READ, _WRITE and _WORD are served (region_protocol.h)
constexpr std::uint64_t kKnownFeatures = kRegions;
constexpr std::uint32_t kDataMagic = 0x4154'4144;  // "DATA"
constexpr std::uint32_t kMaxCredits = 4096;
constexpr std::uint32_t kMaxVolumes = 1 << 20;  // that one peer may announce

enum Type : std::uint16_t {
  kHello = 1,
  kAuth = 2,
  kReady = 3,
  kVolumes = 4,
  kRead = 5,
  kStat = 6,
  kCancel = 7,
  kCredit = 8,
  kError = 9,
  kPing = 10,
  kPong = 11,
  kGoodbye = 12,
  kRegionRead = 13,
  kRegionWrite = 14,
  kRegionWord = 15,
  kRegionDone = 16,
};

enum Role : std::uint8_t { kConnector = 1, kAcceptor = 2 };
enum Auth : std::uint8_t { kNoKey = 0, kPresharedKey = 1 };
enum RequestFlag : std::uint16_t { kSkipCrc = 1, kBulk = 2 };

struct Head {
  std::uint16_t type;
  std::uint16_t size;      // of the message, this head included
  std::uint32_t reserved;  // zero, as every reserved field
};

struct HelloMessage {
  Head head;
  std::uint64_t magic;
  std::uint16_t major;  // refused where it differs
  std::uint16_t minor;  // a newer one only adds what an old reader may ignore
  std::uint8_t role;
  std::uint8_t auth;
  std::uint16_t reserved;
  std::uint64_t required_features;  // unknown bits refuse
  std::uint64_t optional_features;  // unknown bits are ignored
  std::uint64_t engine;             // differs in each life of each engine
  std::array<std::uint8_t, 32> nonce;
  std::array<char, 32> transport_version;  // zero-padded printable text
  std::array<char, 32> engine_version;     // the same
};

struct AuthMessage {
  Head head;
  std::array<std::uint8_t, 32> proof;
};

struct ReadyMessage {
  Head head;
  std::uint32_t credits;     // requests that may be unanswered; 1 to kMaxCredits
  std::uint32_t max_length;  // bytes of one READ, 4096 at least
  std::uint64_t generation;  // of the volumes
  std::uint32_t volumes;     // VOLUMES with so many ids follow
  std::uint32_t reserved;
};

// A part of the whole list, in order of first; the last part makes the new list valid. `count` ids
// (u32, ascending over the whole list) follow.
struct VolumesMessage {
  Head head;
  std::uint64_t generation;
  std::uint32_t first;
  std::uint32_t total;
  std::uint32_t count;
  std::uint32_t reserved;
};

struct RequestMessage {  // READ and STAT
  Head head;
  std::uint64_t id;  // comes back in the DataHeader; unique among the unanswered ones
  std::uint64_t needle;
  std::uint64_t offset;  // READ: first stored byte
  std::uint32_t volume;
  std::uint32_t cookie;
  std::uint32_t length;  // of the landing
  std::uint16_t flags;   // RequestFlag
  std::uint16_t reserved;
  std::uint32_t budget_ms;  // until nobody wants the answer; 0 = no end
  std::uint32_t landing_key;
  std::uint64_t landing_address;
};

struct IdMessage {  // CANCEL and CREDIT
  Head head;
  std::uint64_t id;
};

struct ErrorMessage {  // the link is closed after it
  Head head;
  std::uint16_t status;
  std::uint16_t reserved0;
  std::uint32_t reserved1;
  std::array<char, 240> text;  // zero-padded printable
};

struct PingMessage {  // PING and PONG
  Head head;
  std::uint64_t value;  // comes back
};

struct GoodbyeMessage {  // no new requests, please: the sender stops
  Head head;
};

// Header of a delivery, which is the answer to a request.
struct DataHeader {
  std::uint32_t magic;
  std::uint16_t status;
  std::uint16_t flags;  // RDE_COMPLETION_FLAG_…
  std::uint64_t id;
  std::uint32_t bytes;
  std::uint32_t crc;   // CRC32C of them; 0 with kSkipCrc
  std::uint32_t etag;  // CRC32C of the whole stored object, from its record
  std::uint32_t reserved0;
  std::uint64_t object_size;
  std::array<std::uint64_t, 3> reserved;
};

static_assert(sizeof(Head) == 8);
static_assert(sizeof(HelloMessage) == 144);
static_assert(sizeof(AuthMessage) == 40);
static_assert(sizeof(ReadyMessage) == 32);
static_assert(sizeof(VolumesMessage) == 32);
static_assert(sizeof(RequestMessage) == 64);
static_assert(sizeof(IdMessage) == 16);
static_assert(sizeof(ErrorMessage) == 256);
static_assert(sizeof(PingMessage) == 16);
static_assert(sizeof(GoodbyeMessage) == 8);
static_assert(sizeof(DataHeader) == Link::kMaxHeader);

constexpr std::uint32_t kIdsPerMessage = (Link::kMaxMessage - sizeof(VolumesMessage)) / sizeof(std::uint32_t);

// Errors of all of these: protocol_error, or peer_version for HELLO; the text names field and value.
Result<Head> parse_head(std::span<const std::byte> message);
Result<HelloMessage> parse_hello(std::span<const std::byte> message);
Result<AuthMessage> parse_auth(std::span<const std::byte> message);
Result<ReadyMessage> parse_ready(std::span<const std::byte> message);
Result<VolumesMessage> parse_volumes(std::span<const std::byte> message);  // its ids lie behind it
Result<RequestMessage> parse_request(std::span<const std::byte> message);
Result<IdMessage> parse_id(std::span<const std::byte> message);
Result<ErrorMessage> parse_error(std::span<const std::byte> message);
Result<PingMessage> parse_ping(std::span<const std::byte> message);
Result<DataHeader> parse_data(std::span<const std::byte> header);

template <class M>
constexpr Head head_of(Type type) {
  return {type, sizeof(M), 0};
}

template <class M>
std::span<const std::byte> bytes_of(const M& message) {
  return std::as_bytes(std::span(&message, 1));
}

ErrorMessage error_message(const Error& error);

// Copies as much as fits and keeps a zero at the end.
template <std::size_t N>
void put_text(std::array<char, N>& to, std::string_view text) {
  to = {};
  std::memcpy(to.data(), text.data(), text.size() < N ? text.size() : N - 1);
}

// What put_text wrote; empty where the field is not zero-padded printable text.
template <std::size_t N>
std::string_view text_of(const std::array<char, N>& from) {
  return {from.data(), strnlen(from.data(), N)};
}

}  // namespace rde::wire
