
#include "compat/frame.h"
#include "compat/message_pack.h"
#include "compat/messages.h"

namespace rde::compat {
namespace {

using Packer = msgpack::packer<msgpack::sbuffer>;

template <class T>
void pack_one(Packer& packer, const T& value) {
  packer.pack(value);
}

template <class T>
void pack_one(Packer& packer, const std::optional<T>& value) {
  value ? packer.pack(*value) : packer.pack_nil();
}

template <class... Fields>
void pack_message(Packer& packer, const char* type, const Fields&... fields) {
  packer.pack_array(2);
  packer.pack(type);
  packer.pack_array(sizeof...(fields));
  (pack_one(packer, fields), ...);
}

void pack(Packer& packer, const ErrorReply& m) { pack_message(packer, "Error", m.code, m.message, m.category); }

void pack(Packer& packer, const StartReadResponse& m) {
  pack_message(packer, "StartReadResponse", m.session_id, m.local_addr, m.local_key, m.transfer_size, m.expected_crc,
               m.expires_at_ns);
}

void pack(Packer& packer, const CompleteReadResponse& m) {
  pack_message(packer, "CompleteReadResponse", m.success, m.server_crc, m.message);
}

void pack(Packer& packer, const GetCapabilitiesResponse& m) {
  pack_message(packer, "GetCapabilitiesResponse", m.device_name, m.vendor_id, m.max_transfer_size, m.max_sessions,
               m.active_sessions, m.port_gid, m.port_lid, m.supported_auth, m.version, m.real_rdma);
}

void pack(Packer& packer, const Pong& m) {
  pack_message(packer, "Pong", m.client_timestamp_ns, m.server_timestamp_ns, m.server_rtt_ns);
}

}  // namespace

std::vector<std::byte> encode(const Reply& reply) {
  msgpack::sbuffer buffer;
  Packer packer(buffer);
  std::visit([&](const auto& message) { pack(packer, message); }, reply);
  std::vector<std::byte> frame;
  append_frame(frame, std::as_bytes(std::span(buffer.data(), buffer.size())));
  return frame;
}

}  // namespace rde::compat
