/* Measures round trips of a client of the C interface, for ring-bench:

     ring-bench-c --socket PATH --cpu 0 --milliseconds 400

   It prints {"samples":[...]}: nanoseconds a NOP round trip, each the mean of 256 in a row. Exit codes: 0 good, 2 bad
   usage, 3 could not start. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rde.h"

enum { kBatch = 256, kMostSamples = 1 << 20, kGood = 0, kBadUsage = 2, kCouldNotStart = 3 };

struct options {
  const char* socket;
  long cpu;
  long milliseconds;
};

static int number(const char* text, long least, long* to) {
  char* end = NULL;
  errno = 0;
  *to = strtol(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *to >= least;
}

static int parse(int argc, char** argv, struct options* options) {
  for (int i = 1; i < argc; i += 2) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--socket") == 0 && *value != '\0') {
      options->socket = value;
    } else if (strcmp(argv[i], "--cpu") == 0 && number(value, -1, &options->cpu)) {
      continue;
    } else if (strcmp(argv[i], "--milliseconds") == 0 && number(value, 1, &options->milliseconds)) {
      continue;
    } else {
      fprintf(stderr, "ring-bench-c: '%s %s' is not known; there are --socket PATH, --cpu N and --milliseconds N\n",
              argv[i], value);
      return 0;
    }
  }
  return 1;
}

static int pin(long cpu) {
  if (cpu < 0) return 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

static int batch(rde_client* client, rde_error* error) {
  struct rde_request nop;
  memset(&nop, 0, sizeof nop);
  nop.op = RDE_OP_NOP;
  for (int i = 0; i < kBatch; ++i) {
    rde_reaped reaped;
    size_t count = 0;
    if (rde_submit(client, 0, &nop, 0, NULL, error) != RDE_OK) return 0;
    for (unsigned turn = 1; count == 0; ++turn) {
      if (rde_reap(client, 0, &reaped, 1, &count, error) != RDE_OK) return 0;
      if ((turn & 0xFFFFF) == 0) (void)rde_engine_gone(client); /* then the next rde_reap fails what is outstanding */
    }
    if (reaped.status != RDE_OK) {
      snprintf(error->text, sizeof error->text, "NOP: %s", rde_status_name(reaped.status));
      return 0;
    }
  }
  return 1;
}

static size_t measure(rde_client* client, double* samples, long milliseconds, rde_error* error) {
  size_t n = 0;
  const uint64_t end = rde_now_ns() + (uint64_t)milliseconds * 1000000;
  for (uint64_t start = rde_now_ns(); start < end && n < kMostSamples;) {
    if (!batch(client, error)) return 0;
    const uint64_t now = rde_now_ns();
    samples[n++] = (double)(now - start) / kBatch;
    start = now;
  }
  return n;
}

int main(int argc, char** argv) {
  struct options options = {"/run/rdma-engine/attach.sock", -1, 400};
  if (!parse(argc, argv, &options)) return kBadUsage;
  rde_client* client = NULL;
  rde_error error = {0, "no memory"};
  rde_options how = RDE_OPTIONS_INIT;
  how.socket = options.socket;
  how.name = "ring-bench-c";
  how.depth = 8;
  double* samples = malloc(sizeof(double) * kMostSamples);
  size_t n = 0;
  if (samples != NULL && pin(options.cpu) && rde_attach(&how, &client, &error) == RDE_OK &&
      measure(client, samples, 10, &error) != 0) {
    n = measure(client, samples, options.milliseconds, &error);
  }
  if (n == 0) fprintf(stderr, "ring-bench-c: %s\n", error.text);
  printf("{\"samples\":[");
  for (size_t i = 0; i < n; ++i) printf("%s%.1f", i == 0 ? "" : ",", samples[i]);
  printf("]}\n");
  rde_close(client);
  free(samples);
  return n == 0 ? kCouldNotStart : kGood;
}
