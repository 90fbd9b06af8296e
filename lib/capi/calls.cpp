// Calls that wait for their answer.
#include <string>
#include <string_view>

#include "capi/client.h"
#include "capi/scratch.h"
#include "client/request.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::call_with;
using rde::capi::guarded;
using rde::capi::missing;
using rde::capi::Scratch;

namespace {

constexpr std::size_t kLongestAddress = 300;  // a DNS name, brackets and a port

void put_text(char (&to)[256], std::string_view text) {
  const std::size_t length = std::min(text.size(), sizeof to - 1);
  std::memcpy(to, text.data(), length);
  std::memset(to + length, 0, sizeof to - length);
}

Error short_answer(const char* name, std::uint32_t bytes) {
  return {Status::engine_broken, std::string(name) + ": an answer of " + std::to_string(bytes) + " bytes is too short"};
}

}  // namespace

extern "C" {

int rde_nop(rde_client* client, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    const auto answer = client->callers.call("nop", {.op = RDE_OP_NOP}, timeout_ns);
    if (!answer) return answer.error();
    return {};
  });
}

int rde_ping(rde_client* client, uint64_t timeout_ns, uint64_t* round_trip_ns, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    const auto sent = rde::now_ns();
    const auto request = rde::request_with(RDE_OP_PING, 0, rde_ping_args{.sent_ns = sent, .reserved = {}});
    const auto answer = client->callers.call("ping", request, timeout_ns);
    if (!answer) return answer.error();
    if (round_trip_ns != nullptr) *round_trip_ns = rde::now_ns() - sent;
    return {};
  });
}

int rde_get_capabilities(rde_client* client, uint64_t timeout_ns, struct rde_capabilities* capabilities,
                         rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (capabilities == nullptr) return missing("capabilities");
    const Scratch scratch(client);
    const auto answer = call_with(client, "capabilities", {.op = RDE_OP_CAPABILITIES}, scratch,
                                  sizeof(struct rde_capabilities), timeout_ns);
    if (!answer) return answer.error();
    if (answer->bytes != sizeof *capabilities) return short_answer("capabilities", answer->bytes);
    std::memcpy(capabilities, scratch.data(), sizeof *capabilities);
    return {};
  });
}

int rde_connect(rde_client* client, const char* host_port, uint64_t timeout_ns, uint64_t* peer, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (host_port == nullptr) return missing("host_port");
    if (peer == nullptr) return missing("peer");
    const std::string_view text(host_port);
    if (text.empty() || text.size() > kLongestAddress) {
      return Error{Status::invalid_address,
                   "connect: host_port has " + std::to_string(text.size()) + " bytes: want HOST:PORT, 1 to 300"};
    }
    const Scratch scratch(client);
    if (!scratch.failure()) std::memcpy(scratch.data(), text.data(), text.size());
    const auto answer = call_with(client, "connect", {.op = RDE_OP_CONNECT}, scratch,
                                  static_cast<std::uint32_t>(text.size()), timeout_ns);
    if (!answer) return answer.error().in(text);
    *peer = answer->value;
    return {};
  });
}

int rde_disconnect(rde_client* client, uint64_t peer, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    const auto answer = client->callers.call("disconnect", {.op = RDE_OP_DISCONNECT, .handle = peer}, timeout_ns);
    if (!answer) return answer.error();
    return {};
  });
}

int rde_stat(rde_client* client, uint64_t peer, const rde_file_id* id, uint64_t timeout_ns, rde_stat_result* result,
             rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (id == nullptr) return missing("id");
    if (result == nullptr) return missing("result");
    const Scratch scratch(client);
    const auto answer = call_with(client, "stat", rde::capi::object_request(RDE_OP_OBJECT_STAT, peer, *id, 0), scratch,
                                  RDE_ARENA_PAGE, timeout_ns);
    if (!answer) return answer.error();
    rde_object_stat stat;
    if (answer->bytes < sizeof stat) return short_answer("stat", answer->bytes);
    std::memcpy(&stat, scratch.data(), sizeof stat);
    if (stat.mime_length > answer->bytes - sizeof stat ||
        stat.name_length > answer->bytes - sizeof stat - stat.mime_length) {
      return short_answer("stat", answer->bytes);
    }
    *result = {.stored_size = stat.stored_size,
               .last_modified = stat.last_modified,
               .append_at_ns = stat.append_at_ns,
               .etag = stat.etag,
               .flags = stat.flags,
               .mime = {},
               .name = {}};
    put_text(result->mime, {scratch.data() + sizeof stat, stat.mime_length});
    put_text(result->name, {scratch.data() + sizeof stat + stat.mime_length, stat.name_length});
    return {};
  });
}

}  // extern "C"
