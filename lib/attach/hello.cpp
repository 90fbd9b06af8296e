#include "attach/hello.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace rde {
namespace {

constexpr std::string_view kSameRelease = "; install the same release on both sides";

std::string versus(std::string_view what, std::uint64_t theirs, std::uint64_t ours) {
  return std::string(what) + " is " + std::to_string(theirs) + ", the engine's is " + std::to_string(ours);
}

std::string abi(unsigned major, unsigned minor) { return std::to_string(major) + "." + std::to_string(minor); }

// The first field that is wrong, in the order of the message.
Refusal find_fault(const rde_attach_hello& hello) {
  const auto mismatch = [](const char* field, std::string text) {
    return Refusal{Status::version_mismatch, field, std::move(text) + std::string(kSameRelease)};
  };
  const auto invalid = [](const char* field, std::string text) {
    return Refusal{Status::invalid_request, field, std::move(text)};
  };
  if (hello.endian_mark != RDE_ENDIAN_MARK)
    return mismatch("endian_mark", versus("endian mark", hello.endian_mark, RDE_ENDIAN_MARK));
  if (hello.abi_major != RDE_ABI_MAJOR) {
    return mismatch("abi_major", "the client has ABI " + abi(hello.abi_major, hello.abi_minor) + ", the engine " +
                                     abi(RDE_ABI_MAJOR, RDE_ABI_MINOR));
  }
  if (hello.layout_hash != RDE_LAYOUT_HASH)
    return mismatch("layout_hash", versus("layout hash", hello.layout_hash, RDE_LAYOUT_HASH));
  if (hello.header_size != sizeof(rde_segment_header)) {
    return mismatch("header_size", versus("header size", hello.header_size, sizeof(rde_segment_header)));
  }
  if (hello.request_size != sizeof(rde_request)) {
    return mismatch("request_size", versus("request size", hello.request_size, sizeof(rde_request)));
  }
  if (hello.completion_size != sizeof(rde_completion)) {
    return mismatch("completion_size", versus("completion size", hello.completion_size, sizeof(rde_completion)));
  }
  if (hello.page_size < 4096 || hello.page_size > (1U << 20) || !std::has_single_bit(hello.page_size)) {
    return invalid("page_size", "page size " + std::to_string(hello.page_size) + " is not one of a kernel");
  }
  if (hello.required_features != 0) {
    return Refusal{
        Status::version_mismatch, "required_features",
        "the client needs features " + std::to_string(hello.required_features) + ", which this engine does not have"};
  }
  if (hello.role < RDE_ROLE_CLIENT || hello.role > RDE_ROLE_LIST) {
    return invalid("role", "role " + std::to_string(hello.role) + " is not client (1), monitor (2) or list (3)");
  }
  if (hello.channels > RDE_MAX_CHANNELS) {
    return invalid("channels",
                   std::to_string(hello.channels) + " channels; want 1 to " + std::to_string(RDE_MAX_CHANNELS));
  }
  if (hello.depth != 0 &&
      (!std::has_single_bit(hello.depth) || hello.depth < RDE_MIN_DEPTH || hello.depth > RDE_MAX_DEPTH)) {
    return invalid("depth", "depth " + std::to_string(hello.depth) + "; want a power of two from 2 to 4096");
  }
  if (hello.segment_size != 0 && hello.segment_size < RDE_MIN_SEGMENT) {
    return invalid("segment_size",
                   std::to_string(hello.segment_size) + " bytes; want at least " + std::to_string(RDE_MIN_SEGMENT));
  }
  if (hello.reserved0 != 0 || hello.reserved1 != 0) {
    return Refusal{Status::reserved_not_zero, hello.reserved0 != 0 ? "reserved0" : "reserved1",
                   "a reserved field must be zero"};
  }
  return {Status::ok, "", ""};
}

}  // namespace

rde_attach_hello make_hello(std::uint32_t role, std::string_view name) {
  auto hello = make_message<rde_attach_hello>(RDE_ATTACH_TYPE_HELLO);
  hello.endian_mark = RDE_ENDIAN_MARK;
  hello.abi_major = RDE_ABI_MAJOR;
  hello.abi_minor = RDE_ABI_MINOR;
  hello.layout_hash = RDE_LAYOUT_HASH;
  hello.header_size = sizeof(rde_segment_header);
  hello.request_size = sizeof(rde_request);
  hello.completion_size = sizeof(rde_completion);
  hello.page_size = static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
  hello.role = role;
  put_text(hello.name, name);
  return hello;
}

CheckedHello check_hello(std::span<const std::byte> message) {
  CheckedHello checked;
  const auto refuse = [&](Refusal refusal) {
    checked.refusal = std::move(refusal);
    return checked;
  };
  if (message.size() < 8) {
    return refuse(
        {Status::invalid_request, "size", "the hello has " + std::to_string(message.size()) + " bytes; too short"});
  }
  std::memcpy(&checked.hello, message.data(), std::min(message.size(), sizeof checked.hello));
  if (checked.hello.magic != RDE_ATTACH_MAGIC) {
    return refuse({Status::invalid_request, "magic", versus("magic", checked.hello.magic, RDE_ATTACH_MAGIC)});
  }
  if (checked.hello.type != RDE_ATTACH_TYPE_HELLO) {
    return refuse({Status::invalid_request, "type", versus("message type", checked.hello.type, RDE_ATTACH_TYPE_HELLO)});
  }
  if (checked.hello.size != sizeof checked.hello || message.size() != sizeof checked.hello) {
    return refuse({Status::version_mismatch, "size",
                   "the hello has " + std::to_string(message.size()) + " bytes and says " +
                       std::to_string(checked.hello.size) + "; the engine's has " +
                       std::to_string(sizeof checked.hello) + std::string(kSameRelease)});
  }
  auto fault = find_fault(checked.hello);
  if (fault.status != Status::ok) return refuse(std::move(fault));
  checked.ok = true;
  return checked;
}

rde_attach_refused make_refused(const Refusal& refusal) {
  auto message = make_message<rde_attach_refused>(RDE_ATTACH_TYPE_REFUSED);
  message.status = static_cast<std::uint16_t>(refusal.status);
  message.abi_major = RDE_ABI_MAJOR;
  message.abi_minor = RDE_ABI_MINOR;
  message.layout_hash = RDE_LAYOUT_HASH;
  put_text(message.field, refusal.field);
  put_text(message.text, refusal.text);
  return message;
}

std::uint16_t type_of(std::span<const std::byte> message) {
  rde_attach_signal head{};
  if (message.size() < 8) return 0;
  std::memcpy(&head, message.data(), 8);
  return head.magic == RDE_ATTACH_MAGIC && head.size == message.size() ? head.type : 0;
}

void put_text(std::span<std::uint8_t> field, std::string_view text) {
  const std::size_t length = std::min(text.size(), field.size() - 1);
  std::memcpy(field.data(), text.data(), length);
  std::memset(field.data() + length, 0, field.size() - length);
}

std::string get_text(std::span<const std::uint8_t> field) {
  const auto end = std::find(field.begin(), field.end(), std::uint8_t{0});
  std::string text(field.begin(), end);
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
  return text;
}

}  // namespace rde
