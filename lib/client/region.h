// The requests of regions: parts of a client's arena that the clients of other engines, and of its own, may reach.
//
//   // The owner: the token goes into `page`; hand it to whoever may use the region.
//   const RegionPart part{.offset = arena_offset(buffer), .length = 4096, .rights = RDE_REGION_RIGHT_READ};
//   const auto exposed = client->call(channel, expose_request(page, part), 0);
//   client->call(channel, revoke_request(exposed->value), 0);       // completed: nobody reaches the part any more
//
//   // The user: `page` holds the token; `peer` is the owner's engine, from CONNECT, or 0 where it is this one.
//   const auto opened = client->call(channel, open_region_request(page, peer), 0);
//   client->call(channel, region_read_request(opened->value, 0, buffer), 0);
//   client->call(channel, fetch_add_request(opened->value, 64, 1), 0);
#pragma once

#include <cstdint>

#include "client/client.h"
#include "client/request.h"
#include "rde_layout.h"

namespace rde {

inline rde_request with_buffer(rde_request request, const Buffer& buffer) {
  request.buffer_page = buffer.page;
  request.length = static_cast<std::uint32_t>(buffer.bytes.size());
  return request;
}

// Where a buffer lies in the arena.
inline std::uint64_t arena_offset(const Buffer& buffer) { return std::uint64_t{buffer.page} * RDE_ARENA_PAGE; }

struct RegionPart {
  std::uint64_t offset = 0;  // in the arena; a multiple of 8 where words of it are to be changed atomically
  std::uint64_t length = 0;
  std::uint32_t rights = 0;       // RDE_REGION_RIGHT_…
  std::uint32_t lifetime_ms = 0;  // 0: the engine's default
};

// The token goes into `token`, of sizeof(rde_region_token) bytes at least; the completion's value is what REVOKE names.
inline rde_request expose_request(const Buffer& token, const RegionPart& part) {
  return with_buffer(
      request_with(
          RDE_OP_REGION_EXPOSE, 0,
          rde_region_expose_args{
              .offset = part.offset, .length = part.length, .rights = part.rights, .lifetime_ms = part.lifetime_ms}),
      token);
}

inline rde_request revoke_request(std::uint64_t exposed) {
  return request_with(RDE_OP_REGION_REVOKE, exposed, rde_region_args{});
}

// `token` starts with the token; the completion's value is the region in all requests below.
inline rde_request open_region_request(const Buffer& token, std::uint64_t peer = 0) {
  rde_request request = request_with(RDE_OP_REGION_OPEN, peer, rde_region_args{});
  request.buffer_page = token.page;
  request.length = sizeof(rde_region_token);
  return request;
}

inline rde_request close_region_request(std::uint64_t region) {
  return request_with(RDE_OP_REGION_CLOSE, region, rde_region_args{});
}

inline rde_request region_read_request(std::uint64_t region, std::uint64_t offset, const Buffer& to) {
  return with_buffer(request_with(RDE_OP_REGION_READ, region, rde_region_args{.offset = offset, .reserved = {}}), to);
}

inline rde_request region_write_request(std::uint64_t region, std::uint64_t offset, const Buffer& from) {
  return with_buffer(request_with(RDE_OP_REGION_WRITE, region, rde_region_args{.offset = offset, .reserved = {}}),
                     from);
}

// The completion's value is what the word was.
inline rde_request fetch_add_request(std::uint64_t region, std::uint64_t offset, std::uint64_t add) {
  return request_with(RDE_OP_FETCH_ADD, region, rde_fetch_add_args{.offset = offset, .add = add, .reserved = 0});
}

// The completion's value is what the word was: it was replaced where that is `compare`.
inline rde_request compare_swap_request(std::uint64_t region, std::uint64_t offset, std::uint64_t compare,
                                        std::uint64_t swap) {
  return request_with(RDE_OP_COMPARE_SWAP, region,
                      rde_compare_swap_args{.offset = offset, .compare = compare, .swap = swap});
}

inline rde_request flush_request(std::uint64_t region) { return request_with(RDE_OP_FLUSH, region, rde_region_args{}); }

}  // namespace rde
