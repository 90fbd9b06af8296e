/* Reading objects through an rdma-engine from C, and from whatever can call C.

     rde_client *client;
     rde_error error;
     rde_options options = RDE_OPTIONS_INIT;
     if (rde_attach(&options, &client, &error) != RDE_OK) { fprintf(stderr, "%s\n", error.text); return 1; }

     rde_file_id id;
     rde_buffer buffer;
     rde_read_result result;
     if (rde_parse_file_id("3,01637037d6", &id, &error) == RDE_OK &&
         rde_buffer_alloc(client, 1 << 20, &buffer, &error) == RDE_OK &&
         rde_read(client, 0, &id, 0, &buffer, buffer.length, 0, &result, &error) == RDE_OK)
       fwrite(buffer.data, 1, result.bytes, stdout);
     rde_close(client);

   Functions that return int return a status of rde_status.h, RDE_OK being 0. Where one takes an rde_error, that may be
   NULL; it is filled in on failure alone. No function raises a signal or ends the program. Times are in nanoseconds of
   CLOCK_MONOTONIC; a timeout of 0 means 30 seconds. Strings are UTF-8 or plain bytes, and end in a zero byte.

   A program that forks must not use a client in the child. */
#ifndef RDE_H
#define RDE_H

#include <stddef.h>
#include <stdint.h>

#include "rde_layout.h"
#include "rde_status.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RDE_API __attribute__((visibility("default")))
#else
#define RDE_API
#endif

/* A connection to an engine, and the memory shared with it. */
typedef struct rde_client rde_client;

typedef struct rde_error {
  uint16_t status; /* as returned */
  char text[510];  /* what was tried, why it failed, and what helps */
} rde_error;

/* --- Statuses. Any thread; the texts are constant. ------------------------------------------------------------- */

RDE_API const char* rde_status_name(int status);     /* "object_not_found"; "unknown_status" for what is none */
RDE_API const char* rde_status_category(int status); /* "io" */
RDE_API const char* rde_status_meaning(int status);
RDE_API int rde_status_may_retry(int status); /* 1 where the same call may succeed later */

RDE_API const char* rde_version(void); /* of this library */
RDE_API uint64_t rde_now_ns(void);     /* the clock of all deadlines */

/* --- Attaching. -------------------------------------------------------------------------------------------------- */

typedef struct rde_options {
  size_t size;           /* sizeof(rde_options): lets a later library know which fields the caller has */
  const char* socket;    /* path; NULL: /run/rdma-engine/attach.sock */
  const char* name;      /* of this program, for tools; NULL: "c-client"; 31 bytes count */
  uint64_t segment_size; /* bytes shared with the engine, 2 MiB and up; 0: the engine's default */
  uint32_t channels;     /* for rde_submit: 1 to 2048; 0: 1 */
  uint32_t callers;      /* threads that may be in a call of the last section at once, 1 to 2048; others wait; 0: 4 */
  uint32_t depth;        /* requests of a channel at once: a power of two, 2 to 4096; 0: the engine's default */
  uint32_t reserved;     /* 0 */
  uint64_t timeout_ns;   /* of the attach; 0: 10 seconds */
} rde_options;
#define RDE_OPTIONS_INIT \
  { sizeof(rde_options), NULL, NULL, 0, 0, 0, 0, 0, 0 }

/* Any thread. Errors: RDE_SYSTEM_ERROR (no engine there), RDE_ATTACH_REFUSED, RDE_PERMISSION_DENIED,
   RDE_VERSION_MISMATCH, RDE_SEGMENT_NOT_READY (time-out), RDE_INVALID_REQUEST (the options). */
RDE_API int rde_attach(const rde_options* options, rde_client** client, rde_error* error);

/* Lets the engine go; NULL is fine. No other call with this client may run, and all its buffers are gone. */
RDE_API void rde_close(rde_client* client);

/* 1 once the engine has gone. Such a client stays useless: close it and attach anew. Any thread. */
RDE_API int rde_engine_gone(rde_client* client);

/* --- Buffers: pieces of the shared memory. Any thread. -------------------------------------------------------------
 */

typedef struct rde_buffer {
  void* data;
  size_t length;     /* bytes, as asked for */
  uint32_t page;     /* for rde_request.buffer_page */
  uint32_t reserved; /* 0 */
} rde_buffer;

/* 1 byte to 4 GiB - 1. The bytes are not cleared. Errors: RDE_OUT_OF_BUFFERS, RDE_LENGTH_ZERO. */
RDE_API int rde_buffer_alloc(rde_client* client, size_t length, rde_buffer* buffer, rde_error* error);

/* Where the engine may still write into it (a read that timed out), the buffer is kept until it cannot. A buffer of a
   request of rde_submit must not be released before its rde_reaped.returns_buffer. Errors: RDE_INVALID_REQUEST. */
RDE_API int rde_buffer_release(rde_client* client, const rde_buffer* buffer, rde_error* error);

/* --- Requests that overlap. A channel is used by one thread at a time. ----------------------------------------------
 */

typedef struct rde_reaped {
  uint64_t tag;
  uint64_t user;          /* as given to rde_submit; 0 for a cancel */
  uint64_t value;         /* by operation: object size, peer, or time */
  uint32_t bytes;         /* written to the buffer; never more than its length */
  uint32_t crc;           /* CRC32C of those bytes */
  uint16_t status;        /* RDE_OK or why not */
  uint16_t flags;         /* RDE_COMPLETION_FLAG_... */
  uint8_t ends;           /* 1: this is the answer */
  uint8_t returns_buffer; /* 1: the buffer is the caller's again; may come later than the answer, in a second entry */
  uint16_t reserved;
} rde_reaped;

/* Sends a request; never blocks. Its lap and tag are filled in by the library, all else by the caller (rde_layout.h;
   unused fields 0). The tag may be NULL. Errors: RDE_RING_FULL (reap first), RDE_RING_BROKEN, RDE_ENGINE_BROKEN. */
RDE_API int rde_submit(rde_client* client, uint32_t channel, const struct rde_request* request, uint64_t user,
                       uint64_t* tag, rde_error* error);

/* Takes up to `room` answers; `count` says how many there were. Never blocks. Once the engine is known to be gone
   (rde_wait, rde_engine_gone), or has broken a rule, the rest comes back as failed. */
RDE_API int rde_reap(rde_client* client, uint32_t channel, rde_reaped* reaped, size_t room, size_t* count,
                     rde_error* error);

/* Blocks until rde_reap has something. Errors: RDE_DEADLINE_EXCEEDED, RDE_ENGINE_GONE, RDE_RING_BROKEN. */
RDE_API int rde_wait(rde_client* client, uint32_t channel, uint64_t timeout_ns, rde_error* error);

/* Asks to end a request; both have an answer. Two credits of a channel are kept for this. */
RDE_API int rde_cancel(rde_client* client, uint32_t channel, uint64_t tag, rde_error* error);

/* --- Calls that wait for their answer. Any thread. ------------------------------------------------------------------
 */

RDE_API int rde_nop(rde_client* client, uint64_t timeout_ns, rde_error* error);

/* round_trip_ns may be NULL. */
RDE_API int rde_ping(rde_client* client, uint64_t timeout_ns, uint64_t* round_trip_ns, rde_error* error);

RDE_API int rde_get_capabilities(rde_client* client, uint64_t timeout_ns, struct rde_capabilities* capabilities,
                                 rde_error* error);

/* Opens a connection to the engine of a storage host at "HOST:PORT". Errors: RDE_INVALID_ADDRESS, RDE_PEER_NOT_ALLOWED,
   RDE_PEER_UNREACHABLE, RDE_AUTHENTICATION_FAILED, RDE_PEER_VERSION, RDE_TOO_MANY_PEERS. */
RDE_API int rde_connect(rde_client* client, const char* host_port, uint64_t timeout_ns, uint64_t* peer,
                        rde_error* error);
RDE_API int rde_disconnect(rde_client* client, uint64_t peer, uint64_t timeout_ns, rde_error* error);

typedef struct rde_file_id {
  uint64_t needle;
  uint32_t volume;
  uint32_t cookie;
} rde_file_id;

/* "VOLUME,KEYCOOKIE" as SeaweedFS writes it, with an optional "_N". Errors: RDE_INVALID_FILE_ID. */
RDE_API int rde_parse_file_id(const char* text, rde_file_id* id, rde_error* error);

typedef struct rde_stat_result {
  uint64_t stored_size;   /* bytes, as stored */
  uint64_t last_modified; /* seconds since 1970; 0: unknown */
  uint64_t append_at_ns;  /* when it was written, since 1970 */
  uint32_t etag;          /* CRC32C of the stored bytes */
  uint32_t flags;         /* RDE_COMPLETION_FLAG_GZIP, RDE_COMPLETION_FLAG_MANIFEST */
  char mime[256];
  char name[256];
} rde_stat_result;

/* peer: from rde_connect, or 0 to let the engine find the volume. Errors: RDE_VOLUME_NOT_FOUND, RDE_OBJECT_NOT_FOUND,
   and those of the network. */
RDE_API int rde_stat(rde_client* client, uint64_t peer, const rde_file_id* id, uint64_t timeout_ns,
                     rde_stat_result* result, rde_error* error);

typedef struct rde_read_result {
  uint64_t object_size; /* of the whole object, as stored */
  uint32_t bytes;       /* in the buffer */
  uint32_t crc;         /* CRC32C of those */
  uint32_t flags;       /* RDE_COMPLETION_FLAG_GZIP, _MANIFEST, _END, _UNVERIFIED, _LOCAL */
  uint32_t reserved;
} rde_read_result;

/* Reads up to `length` stored bytes from `offset` on to the start of the buffer. Read on while END is not in the flags.
   After a failure the buffer can be used again, unless rde_read answers RDE_INVALID_REQUEST for it: then the engine may
   still write into it, and releasing it is all that can be done. */
RDE_API int rde_read(rde_client* client, uint64_t peer, const rde_file_id* id, uint64_t offset,
                     const rde_buffer* buffer, size_t length, uint64_t timeout_ns, rde_read_result* result,
                     rde_error* error);

/* Sessions: a transfer of one or more reads that the engine limits in time (lifetime_ns; 0: the engine's default) and
   checks as a whole. Its reads go to `peer`, or where the volume is found. The engine ends the sessions of a client
   that goes. Errors: RDE_TOO_MANY_SESSIONS; later RDE_SESSION_EXPIRED, RDE_SESSION_NOT_FOUND, and RDE_STALE_HANDLE once
   it is closed. */
RDE_API int rde_session_open(rde_client* client, uint64_t peer, uint64_t lifetime_ns, uint64_t timeout_ns,
                             uint64_t* session, rde_error* error);

/* As rde_read. */
RDE_API int rde_session_read(rde_client* client, uint64_t session, const rde_file_id* id, uint64_t offset,
                             const rde_buffer* buffer, size_t length, uint64_t timeout_ns, rde_read_result* result,
                             rde_error* error);

/* failed: 0 where all bytes arrived. crc: CRC32C of them in the order of the reads, or NULL. Errors: RDE_CRC_MISMATCH,
   with which the session has ended too. */
RDE_API int rde_session_close(rde_client* client, uint64_t session, int failed, const uint32_t* crc,
                              uint64_t timeout_ns, rde_error* error);

/* Regions: part of a buffer that the clients of other engines, and of this one, may read and write while it is exposed.
   Whoever has the token may do what `rights` (RDE_REGION_RIGHT_...) allow, until the lifetime is over (0: the engine's
   default) or the region is revoked. The buffer must not be released before rde_region_revoke has answered RDE_OK: from
   then on nobody reaches it. Errors: RDE_TOO_MANY_REGIONS, RDE_REGION_MISALIGNED (atomic rights want an offset that is
   a multiple of 8). */
RDE_API int rde_region_expose(rde_client* client, const rde_buffer* buffer, size_t offset, size_t length,
                              uint32_t rights, uint32_t lifetime_ms, uint64_t timeout_ns, uint64_t* region,
                              struct rde_region_token* token, rde_error* error);
RDE_API int rde_region_revoke(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error);

/* The other side. `peer` is the engine that made the token, from rde_connect, or 0 where it is this one. The token is
   looked at with each use. Errors of those: RDE_REGION_NOT_FOUND, RDE_REGION_REVOKED, RDE_REGION_EXPIRED,
   RDE_REGION_DENIED, RDE_REGION_OUT_OF_RANGE, RDE_REGION_MISALIGNED, RDE_NOT_SUPPORTED (the peer is older), and those
   of the network. A transfer that fails may have moved a part. */
RDE_API int rde_region_open(rde_client* client, uint64_t peer, const struct rde_region_token* token,
                            uint64_t timeout_ns, uint64_t* region, rde_error* error);
RDE_API int rde_region_close(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error);
RDE_API int rde_region_read(rde_client* client, uint64_t region, uint64_t offset, const rde_buffer* buffer,
                            size_t length, uint64_t timeout_ns, rde_error* error);
RDE_API int rde_region_write(rde_client* client, uint64_t region, uint64_t offset, const rde_buffer* buffer,
                             size_t length, uint64_t timeout_ns, rde_error* error);

/* On an aligned 8-byte word, atomic also beside processors that change it. *before is what it was (may be NULL). */
RDE_API int rde_fetch_add(rde_client* client, uint64_t region, uint64_t offset, uint64_t add, uint64_t timeout_ns,
                          uint64_t* before, rde_error* error);
RDE_API int rde_compare_swap(rde_client* client, uint64_t region, uint64_t offset, uint64_t compare, uint64_t swap,
                             uint64_t timeout_ns, uint64_t* before, rde_error* error);

/* Returns when every write to the region that this client asked for before is visible to its owner. */
RDE_API int rde_flush(rde_client* client, uint64_t region, uint64_t timeout_ns, rde_error* error);

RDE_STATIC_ASSERT(sizeof(rde_error) == 512, "rde_error");
RDE_STATIC_ASSERT(sizeof(rde_reaped) == 40, "rde_reaped");
RDE_STATIC_ASSERT(sizeof(rde_file_id) == 16, "rde_file_id");
RDE_STATIC_ASSERT(sizeof(rde_stat_result) == 544, "rde_stat_result");
RDE_STATIC_ASSERT(sizeof(rde_read_result) == 24, "rde_read_result");

#ifdef __cplusplus
}
#endif

#endif
