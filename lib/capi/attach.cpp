#include <string>

#include "base/clock.h"
#include "capi/client.h"

namespace rde::capi {
namespace {

constexpr std::uint32_t kMostChannels = RDE_MAX_CHANNELS / 2;
constexpr std::size_t kFirstSize = sizeof(rde_options);  // of the first version: later ones only add

// The caller's options, whichever version of the struct it was compiled with.
Result<rde_options> options_of(const rde_options* given) {
  rde_options options = RDE_OPTIONS_INIT;
  if (given == nullptr) return options;
  if (given->size < kFirstSize) {
    return Error{Status::invalid_request,
                 "options.size = " + std::to_string(given->size) + ": want sizeof(rde_options) (use RDE_OPTIONS_INIT)"};
  }
  // A newer caller: what we do not know must not have been asked for.
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof options; i < std::min<std::size_t>(given->size, 4096); ++i) {
    if (bytes[i] != 0) return Error{Status::invalid_request, "options: a field that this library does not know"};
  }
  options = *given;
  if (options.reserved != 0) return Error{Status::reserved_not_zero, "options.reserved is not 0"};
  for (const auto& [name, value] : {std::pair("channels", options.channels), std::pair("callers", options.callers)}) {
    if (value > kMostChannels) {
      return Error{Status::invalid_request,
                   "options." + std::string(name) + " = " + std::to_string(value) + ": want 1 to 2048, or 0"};
    }
  }
  return options;
}

}  // namespace
}  // namespace rde::capi

using rde::capi::guarded;
using rde::capi::missing;

extern "C" {

int rde_attach(const rde_options* options, rde_client** client, rde_error* error) {
  return guarded(error, [&]() -> rde::Result<void> {
    if (client == nullptr) return missing("client");
    *client = nullptr;
    const auto given = rde::capi::options_of(options);
    if (!given) return given.error();
    const std::uint32_t channels = given->channels == 0 ? 1 : given->channels;
    rde::AttachOptions attach;
    if (given->socket != nullptr) attach.socket = given->socket;
    attach.name = given->name == nullptr ? "c-client" : given->name;
    attach.segment_size = given->segment_size;
    attach.channels = channels + (given->callers == 0 ? 4 : given->callers);
    attach.depth = given->depth;
    if (given->timeout_ns != 0) attach.timeout = given->timeout_ns;
    auto attached = rde::Client::attach(attach);
    if (!attached) return attached.error();
    if ((*attached)->channel_count() != attach.channels) {
      return rde::Error{rde::Status::engine_broken, "the engine gave " + std::to_string((*attached)->channel_count()) +
                                                        " channels, not " + std::to_string(attach.channels)};
    }
    *client = new rde_client(std::move(*attached), channels);
    return {};
  });
}

void rde_close(rde_client* client) { delete client; }

int rde_engine_gone(rde_client* client) {
  if (client == nullptr) return 1;
  if (client->client->engine_gone()) client->gone = true;
  return client->gone ? 1 : 0;
}

int rde_buffer_alloc(rde_client* client, size_t length, rde_buffer* buffer, rde_error* error) {
  return guarded(error, [&]() -> rde::Result<void> {
    if (client == nullptr) return missing("client");
    if (buffer == nullptr) return missing("buffer");
    *buffer = {};
    if (length == 0) return rde::Error{rde::Status::length_zero, "length = 0: want 1 and up"};
    auto lent = client->client->allocate(length);
    if (!lent) {
      client->callers.collect();
      lent = client->client->allocate(length);
    }
    if (!lent || length > 0xFFFFFFFF) {
      if (lent) client->client->release(*lent);
      return rde::Error{rde::Status::out_of_buffers,
                        "length = " + std::to_string(length) + ": no free block is that large (an empty segment has " +
                            std::to_string(client->client->arena().largest()) +
                            " bytes at most); release buffers, or attach with a larger options.segment_size"};
    }
    client->loans.add(*lent);
    *buffer = {.data = lent->bytes.data(), .length = length, .page = lent->page, .reserved = 0};
    return {};
  });
}

int rde_buffer_release(rde_client* client, const rde_buffer* buffer, rde_error* error) {
  return guarded(error, [&]() -> rde::Result<void> {
    if (client == nullptr) return missing("client");
    if (buffer == nullptr) return missing("buffer");
    if (client->loans.release(buffer->page)) return {};
    return rde::Error{rde::Status::invalid_request,
                      "buffer.page = " + std::to_string(buffer->page) + ": no buffer of this client (any more)"};
  });
}

}  // extern "C"
