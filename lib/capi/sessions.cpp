// Calls of sessions.
#include "capi/client.h"
#include "client/session.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::guarded;
using rde::capi::missing;

extern "C" {

int rde_session_open(rde_client* client, uint64_t peer, uint64_t lifetime_ns, uint64_t timeout_ns, uint64_t* session,
                     rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (session == nullptr) return missing("session");
    const auto answer = client->callers.call("session open", rde::open_session_request(lifetime_ns, peer), timeout_ns);
    if (!answer) return answer.error();
    *session = answer->value;
    return {};
  });
}

int rde_session_read(rde_client* client, uint64_t session, const rde_file_id* id, uint64_t offset,
                     const rde_buffer* buffer, size_t length, uint64_t timeout_ns, rde_read_result* result,
                     rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (id == nullptr) return missing("id");
    if (buffer == nullptr) return missing("buffer");
    if (result == nullptr) return missing("result");
    if (length == 0) return Error{Status::length_zero, "session read: length = 0: want 1 and up"};
    if (auto begun = client->loans.begin(buffer->page, length); !begun) return begun.error().in("session read");
    const rde_object_args args{.needle = id->needle, .volume = id->volume, .cookie = id->cookie, .offset = offset};
    auto request = rde::in_session(rde::session_request(RDE_OP_OBJECT_READ, session, args), session);
    request.buffer_page = buffer->page;
    request.length = static_cast<std::uint32_t>(length);
    const auto answer = client->callers.call("session read", request, timeout_ns, buffer->page);
    if (!answer) return answer.error();
    *result = {.object_size = answer->value,
               .bytes = answer->bytes,
               .crc = answer->crc,
               .flags = answer->flags,
               .reserved = 0};
    return {};
  });
}

int rde_session_close(rde_client* client, uint64_t session, int failed, const uint32_t* crc, uint64_t timeout_ns,
                      rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    rde::SessionClosing closing{.failed = failed != 0};
    if (crc != nullptr) closing.crc = *crc;
    const auto answer = client->callers.call("session close", rde::close_session_request(session, closing), timeout_ns);
    if (!answer) return answer.error();
    return {};
  });
}

}  // extern "C"
