// What stands behind an rde_client, and how C++ results become C ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "capi/callers.h"
#include "capi/loans.h"
#include "client/client.h"
#include "client/session.h"
#include "rde.h"

struct rde_client {
  rde_client(std::unique_ptr<rde::Client> attached, std::uint32_t channel_count)
      : client(std::move(attached)), channels(channel_count), loans(*client), callers(*client, loans, channel_count) {}

  std::unique_ptr<rde::Client> client;
  std::uint32_t channels;  // of rde_submit; the callers have those behind
  rde::capi::Loans loans;
  rde::capi::Callers callers;
  std::atomic<bool> gone{false};
};

namespace rde::capi {

inline int report(rde_error* error, const Error& from) {
  const auto status = static_cast<std::uint16_t>(from.status);
  if (error != nullptr) {
    error->status = status;
    const std::size_t length = std::min(from.text.size(), sizeof error->text - 1);
    std::memcpy(error->text, from.text.data(), length);
    error->text[length] = '\0';
  }
  return status;
}

// Runs the body of a C function: no exception leaves it.
template <class Body>
int guarded(rde_error* error, Body body) noexcept {
  try {
    const Result<void> result = body();
    return result ? RDE_OK : report(error, result.error());
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = {.status = RDE_OUT_OF_MEMORY, .text = "no memory"};
    return RDE_OUT_OF_MEMORY;
  } catch (...) {
    if (error != nullptr) *error = {.status = RDE_INTERNAL, .text = "a fault of the library"};
    return RDE_INTERNAL;
  }
}

inline rde_request object_request(rde_op op, std::uint64_t handle, const rde_file_id& id, std::uint64_t offset) {
  return request_with(op, handle,
                      rde_object_args{.needle = id.needle, .volume = id.volume, .cookie = id.cookie, .offset = offset});
}

inline Error missing(const char* argument) { return {Status::invalid_request, std::string(argument) + " is NULL"}; }

}  // namespace rde::capi
