// The messages of the older socket protocol. A request is a map {"type": T, "data": {…}}; a reply is an array
// [T, [fields in order]], as its clients decode it.
//
//   auto request = decode(payload);
//   if (auto* wrong = std::get_if<ErrorReply>(&request)) return send(encode(*wrong));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace rde::compat {

struct StartRead {
  std::uint32_t volume_id = 0;
  std::uint64_t needle_id = 0;
  std::uint32_t cookie = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // 0 = to the end
  std::uint64_t remote_addr = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t timeout_secs = 0;  // 0 = the default
};

struct CompleteRead {
  std::string session_id;
  bool success = false;
  std::uint64_t bytes_transferred = 0;
  std::optional<std::uint32_t> client_crc;
  std::optional<std::string> error_message;
};

struct GetCapabilities {};

struct Ping {
  std::uint64_t timestamp_ns = 0;
};

struct StartReadResponse {
  std::string session_id;
  std::uint64_t local_addr = 0;
  std::uint32_t local_key = 0;
  std::uint64_t transfer_size = 0;
  std::uint32_t expected_crc = 0;
  std::uint64_t expires_at_ns = 0;  // since 1970
};

struct CompleteReadResponse {
  bool success = false;
  std::optional<std::uint32_t> server_crc;
  std::optional<std::string> message;
};

struct GetCapabilitiesResponse {
  std::string device_name;
  std::uint32_t vendor_id = 0;
  std::uint64_t max_transfer_size = 0;
  std::uint64_t max_sessions = 0;
  std::uint64_t active_sessions = 0;
  std::string port_gid;
  std::uint16_t port_lid = 0;
  std::vector<std::string> supported_auth;
  std::string version;
  bool real_rdma = false;
};

struct Pong {
  std::uint64_t client_timestamp_ns = 0;
  std::uint64_t server_timestamp_ns = 0;
  std::uint64_t server_rtt_ns = 0;
};

// Its clients decode exactly three fields.
struct ErrorReply {
  std::string code;
  std::string message;
  std::string category;
};

using Request = std::variant<ErrorReply, StartRead, CompleteRead, GetCapabilities, Ping>;
using Reply = std::variant<ErrorReply, StartReadResponse, CompleteReadResponse, GetCapabilitiesResponse, Pong>;

// The payload of a frame. An ErrorReply says which field is wrong, its value, and what would be right; fields that
// nobody knows are passed over.
Request decode(std::span<const std::byte> payload);

// A whole frame.
std::vector<std::byte> encode(const Reply& reply);

}  // namespace rde::compat
