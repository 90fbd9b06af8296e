// Attaching to an engine, from the client's side.
//
//   auto attached = attach({.socket = "/run/rdma-engine/attach.sock", .channels = 4});
//   if (!attached) return attached.error();
//   SegmentView view = attached->view;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/status.h"
#include "segment/mapping.h"
#include "segment/view.h"

namespace rde {

struct AttachOptions {
  std::string socket = "/run/rdma-engine/attach.sock";
  std::string name = "client";
  std::uint64_t segment_size = 0;      // bytes; 0 = the engine's default
  std::uint32_t channels = 0;          // 0 = the engine's default
  std::uint32_t depth = 0;             // 0 = the engine's default
  Nanoseconds timeout = 10 * kSecond;  // of the whole attach; at most a day
};

// Everything that an attached client holds. The socket stays silent until the engine goes.
struct Attachment {
  Descriptor socket;
  Descriptor wake;                    // readable when the engine woke us
  std::vector<Descriptor> doorbells;  // eventfd of each shard
  Mapping mapping;
  SegmentView view;
  std::uint64_t client_number = 0;
  std::string engine_version;
};

// Errors: system_error (no socket), version_mismatch and attach_refused (naming the engine's reason), segment_invalid,
// segment_not_ready (time-out), engine_gone, engine_broken. Nothing is left behind by a failure. Any thread.
Result<Attachment> attach(const AttachOptions& options);

struct AttachedClient {
  std::uint64_t number = 0;
  std::uint64_t segment_size = 0;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  std::uint32_t channels = 0;
  std::uint32_t depth = 0;
  Nanoseconds attached_ns = 0;
  std::string name;
};

// The clients of an engine that this user may look at.
Result<std::vector<AttachedClient>> list_clients(const std::string& socket);

// The sealed descriptor of a client's segment; it can be mapped for reading only.
Result<Descriptor> monitor_client(const std::string& socket, std::uint64_t client_number);

}  // namespace rde
