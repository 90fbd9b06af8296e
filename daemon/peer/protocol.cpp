#include "peer/protocol.h"

#include <algorithm>

#include "peer/protocol_check.h"
#include "rde_layout.h"

namespace rde::wire {
Result<Head> parse_head(std::span<const std::byte> message) {
  Check check("message");
  const Head head = take<Head>(message, check, true);
  check.between("type", head.type, kHello, kRegionDone)
      .equal("size", head.size, message.size())
      .equal("reserved", head.reserved, 0);
  return check.give(head);
}

Result<HelloMessage> parse_hello(std::span<const std::byte> message) {
  Check check("hello");
  // Magic and versions first: they stand at the same place in every version, whatever follows them.
  Head head{};
  std::uint64_t magic = 0;
  std::uint16_t major = 0;
  if (message.size() >= 18) {
    std::memcpy(&head, message.data(), sizeof(head));
    std::memcpy(&magic, message.data() + 8, sizeof(magic));
    std::memcpy(&major, message.data() + 16, sizeof(major));
    check.equal("magic", magic, kMagic)
        .as(Status::peer_version)
        .equal("major", major, kMajor)
        .as(Status::protocol_error);
  }
  const auto hello = take<HelloMessage>(message, check);
  check.between("role", hello.role, kConnector, kAcceptor)
      .between("auth", hello.auth, kNoKey, kPresharedKey)
      .equal("reserved", hello.reserved, 0)
      .as(Status::peer_version)
      .bits("required_features", hello.required_features, kKnownFeatures)
      .as(Status::protocol_error)
      .text("transport_version", hello.transport_version)
      .text("engine_version", hello.engine_version);
  return check.give(hello);
}

Result<AuthMessage> parse_auth(std::span<const std::byte> message) {
  Check check("auth");
  const auto auth = take<AuthMessage>(message, check);
  return check.give(auth);
}

Result<ReadyMessage> parse_ready(std::span<const std::byte> message) {
  Check check("ready");
  const auto ready = take<ReadyMessage>(message, check);
  check.between("credits", ready.credits, 1, kMaxCredits)
      .between("max_length", ready.max_length, 4096, 1U << 30)
      .between("volumes", ready.volumes, 0, kMaxVolumes)
      .equal("reserved", ready.reserved, 0);
  return check.give(ready);
}

Result<VolumesMessage> parse_volumes(std::span<const std::byte> message) {
  Check check("volumes");
  const auto volumes = take<VolumesMessage>(message, check, true);
  check.between("total", volumes.total, 0, kMaxVolumes)
      .between("first", volumes.first, 0, volumes.total)
      .between("count", volumes.count, 0, kIdsPerMessage)
      .between("count", volumes.count, volumes.total == 0 ? 0 : 1,
               volumes.total - std::min(volumes.first, volumes.total))
      .equal("size", message.size(), sizeof(VolumesMessage) + std::size_t{volumes.count} * sizeof(std::uint32_t))
      .equal("reserved", volumes.reserved, 0);
  return check.give(volumes);
}

Result<RequestMessage> parse_request(std::span<const std::byte> message) {
  Check check("request");
  const auto request = take<RequestMessage>(message, check);
  if (!check.failed()) {
    check.between("length", request.length, 1, UINT32_MAX)
        .bits("flags", request.flags, kSkipCrc | kBulk)
        .equal("reserved", request.reserved, 0);
    if (request.head.type == kStat) check.equal("offset", request.offset, 0);
  }
  return check.give(request);
}

Result<IdMessage> parse_id(std::span<const std::byte> message) {
  Check check("id message");
  const auto id = take<IdMessage>(message, check);
  return check.give(id);
}

Result<ErrorMessage> parse_error(std::span<const std::byte> message) {
  Check check("error");
  const auto error = take<ErrorMessage>(message, check);
  check.text("text", error.text).equal("reserved", error.reserved0 | error.reserved1, 0);
  check.between("status", error.status, 1, is_known(error.status) ? error.status : 0);
  return check.give(error);
}

Result<PingMessage> parse_ping(std::span<const std::byte> message) {
  Check check("ping");
  const auto ping = take<PingMessage>(message, check);
  return check.give(ping);
}

Result<DataHeader> parse_data(std::span<const std::byte> header) {
  constexpr std::uint16_t kFlags = RDE_COMPLETION_FLAG_GZIP | RDE_COMPLETION_FLAG_MANIFEST | RDE_COMPLETION_FLAG_END |
                                   RDE_COMPLETION_FLAG_UNVERIFIED | RDE_COMPLETION_FLAG_LOCAL;
  Check check("data");
  const auto data = take<DataHeader>(header, check);
  check.equal("magic", data.magic, kDataMagic)
      .between("status", data.status, 0, is_known(data.status) ? data.status : 0)
      .bits("flags", data.flags, kFlags)
      .equal("reserved", data.reserved0 | data.reserved[0] | data.reserved[1] | data.reserved[2], 0);
  if (data.status != 0) check.equal("bytes", data.bytes, 0);
  return check.give(data);
}

ErrorMessage error_message(const Error& error) {
  ErrorMessage message{.head = head_of<ErrorMessage>(kError), .status = static_cast<std::uint16_t>(error.status)};
  std::string text = error.text;
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  put_text(message.text, text);
  return message;
}

}  // namespace rde::wire
