// Requests that overlap.
#include <string>

#include "capi/client.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::guarded;
using rde::capi::missing;

namespace {

Result<rde::Channel*> channel_of(rde_client* client, std::uint32_t channel) {
  if (client == nullptr) return missing("client");
  if (channel < client->channels) return &client->client->channel(channel);
  return Error{Status::invalid_request, "channel = " + std::to_string(channel) + ": this client has " +
                                            std::to_string(client->channels) + " (options.channels)"};
}

rde_reaped to_c(const rde::Reaped& reaped) {
  return {.tag = reaped.tag,
          .user = reaped.user,
          .value = reaped.value,
          .bytes = reaped.bytes,
          .crc = reaped.crc,
          .status = static_cast<std::uint16_t>(reaped.status),
          .flags = reaped.flags,
          .ends = static_cast<std::uint8_t>(reaped.ends),
          .returns_buffer = static_cast<std::uint8_t>(reaped.returns_buffer),
          .reserved = 0};
}

}  // namespace

extern "C" {

int rde_submit(rde_client* client, uint32_t channel, const struct rde_request* request, uint64_t user, uint64_t* tag,
               rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    const auto found = channel_of(client, channel);
    if (!found) return found.error();
    if (request == nullptr) return missing("request");
    const auto sent = (*found)->submit(*request, user);
    if (!sent) return sent.error();
    if (tag != nullptr) *tag = *sent;
    return {};
  });
}

int rde_reap(rde_client* client, uint32_t channel, rde_reaped* reaped, size_t room, size_t* count, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (count == nullptr) return missing("count");
    *count = 0;
    const auto found = channel_of(client, channel);
    if (!found) return found.error();
    if (reaped == nullptr) return missing("reaped");
    rde::Reaped next;
    while (*count < room && (*found)->reap(next)) reaped[(*count)++] = to_c(next);
    // Nothing more comes of itself; each request still has its answer.
    const bool broken = (*found)->broken();
    if (!broken && !client->gone) return {};
    const Status why = client->gone ? Status::engine_gone : Status::engine_broken;
    while (*count < room && (*found)->fail_next(why, next)) reaped[(*count)++] = to_c(next);
    return {};
  });
}

int rde_wait(rde_client* client, uint32_t channel, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    const auto found = channel_of(client, channel);
    if (!found) return found.error();
    if ((*found)->broken()) return Error{Status::engine_broken, "the engine broke a rule of the ring; attach again"};
    switch (client->client->wait(**found, rde::capi::deadline_after(timeout_ns))) {
      case rde::Waiter::Outcome::ready:
        return {};
      case rde::Waiter::Outcome::timed_out:
        return Error{Status::deadline_exceeded, "nothing came on channel " + std::to_string(channel) + " in time"};
      case rde::Waiter::Outcome::engine_gone:
        client->gone = true;
        return Error{Status::engine_gone, "the engine closed the attach socket; close and attach again"};
      case rde::Waiter::Outcome::channel_faulted:
        return Error{Status::ring_broken, "the engine faulted channel " + std::to_string(channel) +
                                              ": a request broke a rule; close and attach again"};
    }
    return Error{Status::internal, "rde_wait"};
  });
}

int rde_cancel(rde_client* client, uint32_t channel, uint64_t tag, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    const auto found = channel_of(client, channel);
    if (!found) return found.error();
    const auto sent = (*found)->cancel(tag);
    if (!sent) return sent.error();
    return {};
  });
}

}  // extern "C"
