// Calls of regions.
#include "capi/client.h"
#include "capi/scratch.h"
#include "client/region.h"

using rde::Error;
using rde::Result;
using rde::Status;
using rde::capi::call_with;
using rde::capi::guarded;
using rde::capi::missing;
using rde::capi::Scratch;

namespace {

// Sends a request that has no buffer; `value` may be null.
Result<void> ask(rde_client* client, const char* name, const rde_request& request, std::uint64_t timeout_ns,
                 std::uint64_t* value = nullptr) {
  if (client == nullptr) return missing("client");
  const auto answer = client->callers.call(name, request, timeout_ns);
  if (!answer) return answer.error();
  if (value != nullptr) *value = answer->value;
  return {};
}

Result<void> transfer(rde_client* client, const char* name, rde_request request, const rde_buffer* buffer,
                      std::size_t length, std::uint64_t timeout_ns) {
  if (client == nullptr) return missing("client");
  if (buffer == nullptr) return missing("buffer");
  if (length == 0) return Error{Status::length_zero, std::string(name) + ": length = 0: want 1 and up"};
  if (auto begun = client->loans.begin(buffer->page, length); !begun) return begun.error().in(name);
  request.buffer_page = buffer->page;
  request.length = static_cast<std::uint32_t>(length);
  const auto answer = client->callers.call(name, request, timeout_ns, buffer->page);
  if (!answer) return answer.error();
  return {};
}

}  // namespace

extern "C" {

int rde_region_expose(rde_client* client, const rde_buffer* buffer, size_t offset, size_t length, uint32_t rights,
                      uint32_t lifetime_ms, uint64_t timeout_ns, uint64_t* region, struct rde_region_token* token,
                      rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (buffer == nullptr) return missing("buffer");
    if (region == nullptr) return missing("region");
    if (token == nullptr) return missing("token");
    if (offset > buffer->length || length > buffer->length - offset)
      return Error{Status::buffer_out_of_range, "region expose: offset and length do not lie in the buffer"};
    const Scratch scratch(client);
    const std::uint64_t at = std::uint64_t{buffer->page} * RDE_ARENA_PAGE + offset;
    const auto request = rde::request_with(
        RDE_OP_REGION_EXPOSE, 0,
        rde_region_expose_args{.offset = at, .length = length, .rights = rights, .lifetime_ms = lifetime_ms});
    const auto answer = call_with(client, "region expose", request, scratch, sizeof *token, timeout_ns);
    if (!answer) return answer.error();
    std::memcpy(token, scratch.data(), sizeof *token);
    *region = answer->value;
    return {};
  });
}

int rde_region_revoke(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&] { return ask(client, "region revoke", rde::revoke_request(region), timeout_ns); });
}

int rde_region_open(rde_client* client, uint64_t peer, const struct rde_region_token* token, uint64_t timeout_ns,
                    uint64_t* region, rde_error* error) {
  return guarded(error, [&]() -> Result<void> {
    if (client == nullptr) return missing("client");
    if (token == nullptr) return missing("token");
    if (region == nullptr) return missing("region");
    const Scratch scratch(client);
    if (!scratch.failure()) std::memcpy(scratch.data(), token, sizeof *token);
    const auto request = rde::request_with(RDE_OP_REGION_OPEN, peer, rde_region_args{});
    const auto answer = call_with(client, "region open", request, scratch, sizeof *token, timeout_ns);
    if (!answer) return answer.error();
    *region = answer->value;
    return {};
  });
}

int rde_region_close(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&] { return ask(client, "region close", rde::close_region_request(region), timeout_ns); });
}

int rde_region_read(rde_client* client, uint64_t region, uint64_t offset, const rde_buffer* buffer, size_t length,
                    uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&] {
    const auto request =
        rde::request_with(RDE_OP_REGION_READ, region, rde_region_args{.offset = offset, .reserved = {}});
    return transfer(client, "region read", request, buffer, length, timeout_ns);
  });
}

int rde_region_write(rde_client* client, uint64_t region, uint64_t offset, const rde_buffer* buffer, size_t length,
                     uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&] {
    const auto request =
        rde::request_with(RDE_OP_REGION_WRITE, region, rde_region_args{.offset = offset, .reserved = {}});
    return transfer(client, "region write", request, buffer, length, timeout_ns);
  });
}

int rde_fetch_add(rde_client* client, uint64_t region, uint64_t offset, uint64_t add, uint64_t timeout_ns,
                  uint64_t* before, rde_error* error) {
  return guarded(
      error, [&] { return ask(client, "fetch add", rde::fetch_add_request(region, offset, add), timeout_ns, before); });
}

int rde_compare_swap(rde_client* client, uint64_t region, uint64_t offset, uint64_t compare, uint64_t swap,
                     uint64_t timeout_ns, uint64_t* before, rde_error* error) {
  return guarded(error, [&] {
    return ask(client, "compare swap", rde::compare_swap_request(region, offset, compare, swap), timeout_ns, before);
  });
}

int rde_flush(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error) {
  return guarded(error, [&] { return ask(client, "flush", rde::flush_request(region), timeout_ns); });
}

}  // extern "C"
