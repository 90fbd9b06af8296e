// A buffer of the library's own, for one call that has something to say, or to be told, beside its request.
//
//   const Scratch scratch(client);
//   if (!scratch.failure()) std::memcpy(scratch.data(), text, length);
//   const auto answer = call_with(client, "connect", request, scratch, length, timeout_ns);
#pragma once

#include <optional>

#include "capi/client.h"
#include "rde.h"

namespace rde::capi {

class Scratch {
 public:
  explicit Scratch(rde_client* client) : client_(client) {
    rde_buffer buffer;
    rde_error error;
    if (rde_buffer_alloc(client, RDE_ARENA_PAGE, &buffer, &error) != RDE_OK) {
      failure_ = Error{Status{error.status}, error.text};
      return;
    }
    buffer_ = buffer;
    if (auto begun = client->loans.begin(buffer.page, buffer.length); !begun) failure_ = begun.error();
  }
  // Kept by the loans for as long as the engine may write into it.
  ~Scratch() {
    if (buffer_.data != nullptr) (void)client_->loans.release(buffer_.page);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  [[nodiscard]] std::uint32_t page() const { return buffer_.page; }
  [[nodiscard]] char* data() const { return static_cast<char*>(buffer_.data); }

 private:
  rde_client* client_;
  rde_buffer buffer_{};
  std::optional<Error> failure_;
};

inline Result<Reaped> call_with(rde_client* client, const char* name, rde_request request, const Scratch& scratch,
                                std::uint32_t length, std::uint64_t timeout_ns) {
  if (scratch.failure()) return scratch.failure()->in(name);
  request.buffer_page = scratch.page();
  request.length = length;
  return client->callers.call(name, request, timeout_ns, scratch.page());
}

}  // namespace rde::capi
