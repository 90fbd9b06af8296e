// Calls that wait for their answer.
#include <string>
#include <string_view>

#include "capi/client.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::guarded;
using rde::capi::missing;

namespace {

constexpr std::size_t kLongestAddress = 300;  // a DNS name, brackets and a port

// A buffer of the library's own, for one call.
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

Result<rde::Reaped> call_with(rde_client* client, const char* name, rde_request request, const Scratch& scratch,
                              std::uint32_t length, std::uint64_t timeout_ns) {
  if (scratch.failure()) return scratch.failure()->in(name);
  request.buffer_page = scratch.page();
  request.length = length;
  return client->callers.call(name, request, timeout_ns, scratch.page());
}

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
