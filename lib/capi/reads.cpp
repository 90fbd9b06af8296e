// Calls that read an object, in a session or not.
#include "capi/client.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::guarded;
using rde::capi::missing;

namespace {

// `handle` is a peer, or with the flag IN_SESSION a session.
Result<void> read_object(const char* what, rde_client* client, std::uint64_t handle, std::uint8_t flags,
                         const rde_file_id* id, std::uint64_t offset, const rde_buffer* buffer, std::size_t length,
                         std::uint64_t timeout_ns, rde_read_result* result) {
  if (client == nullptr) return missing("client");
  if (id == nullptr) return missing("id");
  if (buffer == nullptr) return missing("buffer");
  if (result == nullptr) return missing("result");
  if (length == 0) return Error{Status::length_zero, std::string(what) + ": length = 0: want 1 and up"};
  if (auto begun = client->loans.begin(buffer->page, length); !begun) return begun.error().in(what);
  auto request = rde::capi::object_request(RDE_OP_OBJECT_READ, handle, *id, offset);
  request.flags = flags;
  request.buffer_page = buffer->page;
  request.length = static_cast<std::uint32_t>(length);
  const auto answer = client->callers.call(what, request, timeout_ns, buffer->page);
  if (!answer) return answer.error();
  *result = {
      .object_size = answer->value, .bytes = answer->bytes, .crc = answer->crc, .flags = answer->flags, .reserved = 0};
  return {};
}

}  // namespace

extern "C" {

int rde_read(rde_client* client, uint64_t peer, const rde_file_id* id, uint64_t offset, const rde_buffer* buffer,
             size_t length, uint64_t timeout_ns, rde_read_result* result, rde_error* error) {
  return guarded(error,
                 [&] { return read_object("read", client, peer, 0, id, offset, buffer, length, timeout_ns, result); });
}

int rde_session_read(rde_client* client, uint64_t session, const rde_file_id* id, uint64_t offset,
                     const rde_buffer* buffer, size_t length, uint64_t timeout_ns, rde_read_result* result,
                     rde_error* error) {
  return guarded(error, [&] {
    return read_object("session read", client, session, RDE_REQUEST_FLAG_IN_SESSION, id, offset, buffer, length,
                       timeout_ns, result);
  });
}

}  // extern "C"
