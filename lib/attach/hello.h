// The messages of the attach handshake, made and checked (docs/rings.md, "Attaching"). Pure functions; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rde_layout.h"

namespace rde {

// Why a hello is refused: the status, the field of attach_hello, and a text for a person.
struct Refusal {
  Status status = Status::attach_refused;
  std::string field;
  std::string text;
};

// A hello of this build, with nothing asked for.
rde_attach_hello make_hello(std::uint32_t role, std::string_view name);

// Copies and checks a first message. Nothing of it is trusted before.
struct CheckedHello {
  bool ok = false;
  rde_attach_hello hello{};
  Refusal refusal;
};
CheckedHello check_hello(std::span<const std::byte> message);

rde_attach_refused make_refused(const Refusal& refusal);

template <class Message>
Message make_message(std::uint16_t type) {
  Message message{};
  message.magic = RDE_ATTACH_MAGIC;
  message.type = type;
  message.size = sizeof message;
  return message;
}

template <class Message>
std::span<const std::byte> bytes_of(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}

// Type of a message that is whole and has the magic; 0 for anything else.
std::uint16_t type_of(std::span<const std::byte> message);

// Copies a message of a known type; false when its size is another.
template <class Message>
bool copy_message(std::span<const std::byte> from, Message& to) {
  if (from.size() != sizeof to) return false;
  __builtin_memcpy(&to, from.data(), sizeof to);
  return to.size == sizeof to;
}

// Text in a zero-padded field, and back. A text that is too long is cut.
void put_text(std::span<std::uint8_t> field, std::string_view text);
std::string get_text(std::span<const std::uint8_t> field);

}  // namespace rde
