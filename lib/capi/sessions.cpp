// Calls of sessions.
#include "capi/client.h"

using rde::Result;
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
