#include <signal.h>

#include <cerrno>
#include <cstring>

#include "common/names.h"
#include "dump/print.h"
#include "seaweed/file_id.h"

namespace rde::tools {

std::string describe_args(const rde_request& request) {
  switch (request.op) {
    case RDE_OP_OBJECT_STAT:
    case RDE_OP_OBJECT_READ: {
      rde_object_args args;
      std::memcpy(&args, request.args, sizeof args);
      return format_file_id({args.volume, args.needle, args.cookie}) + " offset " + std::to_string(args.offset);
    }
    case RDE_OP_CANCEL: {
      rde_cancel_args args;
      std::memcpy(&args, request.args, sizeof args);
      return "cancels " + hex(args.tag);
    }
    case RDE_OP_PING: {
      rde_ping_args args;
      std::memcpy(&args, request.args, sizeof args);
      return "sent_ns " + std::to_string(args.sent_ns);
    }
    default:
      return {};
  }
}

std::string describe_pid(std::uint32_t pid, bool live) {
  const std::string text = std::to_string(pid);
  if (!live || pid == 0 || pid > 0x7FFFFFFF) return text;
  const bool gone = kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
  return gone ? text + " (gone)" : text;
}

}  // namespace rde::tools
