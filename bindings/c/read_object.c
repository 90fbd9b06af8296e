/* Writes the stored bytes of an object to stdout.

     read_object SOCKET FILE_ID [HOST:PORT]

   With HOST:PORT the bytes come from the engine of that storage host; without, the engine finds the volume itself. */
#include <stdio.h>
#include <string.h>

#include "rde.h"

static const size_t piece = 1 << 20;

static int fail(const rde_error* error) {
  fprintf(stderr, "read_object: %s%s\n", error->text,
          rde_status_may_retry(error->status) ? " (trying again may help)" : "");
  return 1;
}

static int copy_object(rde_client* client, uint64_t peer, const rde_file_id* id, const rde_buffer* buffer) {
  rde_error error;
  rde_read_result result;
  uint64_t offset = 0;
  do {
    if (rde_read(client, peer, id, offset, buffer, buffer->length, 0, &result, &error) != RDE_OK) return fail(&error);
    if (fwrite(buffer->data, 1, result.bytes, stdout) != result.bytes) {
      perror("read_object: stdout");
      return 1;
    }
    offset += result.bytes;
    if (result.bytes == 0) break; /* an empty object */
  } while ((result.flags & RDE_COMPLETION_FLAG_END) == 0);
  if (offset != result.object_size) {
    fprintf(stderr, "read_object: %llu bytes came, the object has %llu\n", (unsigned long long)offset,
            (unsigned long long)result.object_size);
    return 1;
  }
  return fflush(stdout) == 0 ? 0 : 1;
}

static int read_object(rde_client* client, const char* file_id, const char* host_port) {
  rde_error error;
  rde_file_id id;
  rde_buffer buffer;
  uint64_t peer = 0;
  int code;
  if (rde_parse_file_id(file_id, &id, &error) != RDE_OK) return fail(&error);
  if (host_port != NULL && rde_connect(client, host_port, 0, &peer, &error) != RDE_OK) return fail(&error);
  if (rde_buffer_alloc(client, piece, &buffer, &error) != RDE_OK) return fail(&error);
  code = copy_object(client, peer, &id, &buffer);
  rde_buffer_release(client, &buffer, NULL);
  return code;
}

int main(int argc, char** argv) {
  rde_client* client;
  rde_error error;
  rde_options options = RDE_OPTIONS_INIT;
  int code;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: read_object SOCKET FILE_ID [HOST:PORT]\n");
    return 2;
  }
  options.socket = argv[1];
  options.name = "read_object";
  if (rde_attach(&options, &client, &error) != RDE_OK) return fail(&error);
  code = read_object(client, argv[2], argc == 4 ? argv[3] : NULL);
  rde_close(client);
  return code;
}
