#include "peer/protocol.h"

#include <algorithm>

#include "rde_layout.h"

namespace rde::wire {
namespace {

// Collects the first wrong field of a message.
class Check {
 public:
  explicit Check(std::string_view message) : message_(message) {}

  Check& equal(std::string_view field, std::uint64_t value, std::uint64_t expected) {
    if (value != expected) fail(field, value, "must be " + std::to_string(expected));
    return *this;
  }
  Check& between(std::string_view field, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most) {
      fail(field, value, "must be " + std::to_string(least) + " to " + std::to_string(most));
    }
    return *this;
  }
  Check& bits(std::string_view field, std::uint64_t value, std::uint64_t known) {
    if ((value & ~known) != 0) fail(field, value, "has bits that this engine does not know");
    return *this;
  }
  template <std::size_t N>
  Check& text(std::string_view field, const std::array<char, N>& value) {
    const auto shown = text_of(value);
    const bool is_printable = std::ranges::all_of(shown, [](char c) { return c >= ' ' && c <= '~'; });
    const bool is_padded = std::all_of(value.begin() + shown.size(), value.end(), [](char c) { return c == 0; });
    if (shown.size() == N || !is_printable || !is_padded)
      fail(field, shown.size(), "must be zero-padded printable text");
    return *this;
  }
  // Status of the fields checked next, where they are wrong.
  Check& as(Status status) {
    status_ = status;
    return *this;
  }
  template <class M>
  Result<M> give(const M& value) const {
    if (failed_) return error_;
    return value;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void fail(std::string_view field, std::uint64_t value, const std::string& why) {
    if (failed_) return;
    failed_ = true;
    error_ = {status_, std::string(message_) + "." + std::string(field) + " is " + std::to_string(value) + ", " + why};
  }

  std::string_view message_;
  Status status_ = Status::protocol_error;
  bool failed_ = false;
  Error error_;
};

// The fixed part of a message; zeros where it is shorter, and `check` says so.
template <class M>
M take(std::span<const std::byte> message, Check& check, bool longer_is_fine = false) {
  M value{};
  if (message.size() < sizeof(M) || (message.size() > sizeof(M) && !longer_is_fine)) {
    check.equal("size", message.size(), sizeof(M));
    return value;
  }
  std::memcpy(&value, message.data(), sizeof(M));
  return value;
}

}  // namespace

Result<Head> parse_head(std::span<const std::byte> message) {
  Check check("message");
  const Head head = take<Head>(message, check, true);
  check.between("type", head.type, kHello, kGoodbye)
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
