#include "transport/ucx/ucx_runtime.h"

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

#include "base/atomic.h"

// Exported by libucs, but declared in a header that is not installed.
extern "C" void ucs_debug_disable_signals(void);

namespace rde {
namespace {

void to_stderr(UcxLogLevel /*level*/, std::string_view line) {
  std::fprintf(stderr, "ucx: %.*s\n", static_cast<int>(line.size()), line.data());
}

UcxLogSink log_sink = nullptr;  // shared: UCX has a thread of its own

UcxLogLevel level_of(ucs_log_level_t level) {
  if (level <= UCS_LOG_LEVEL_ERROR) return UcxLogLevel::error;
  if (level == UCS_LOG_LEVEL_WARN) return UcxLogLevel::warning;
  return level <= UCS_LOG_LEVEL_INFO ? UcxLogLevel::info : UcxLogLevel::debug;
}

ucs_log_func_rc_t handle_log(const char* /*file*/, unsigned /*line*/, const char* /*function*/, ucs_log_level_t level,
                             const ucs_log_component_config_t* /*component*/, const char* message, va_list arguments) {
  std::array<char, 1024> text;
  const int length = std::vsnprintf(text.data(), text.size(), message, arguments);
  if (length > 0) {
    const auto shown = std::min(static_cast<std::size_t>(length), text.size() - 1);
    load_acquire (&log_sink)(level_of(level), {text.data(), shown});
  }
  return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void take_back_signals() { ucs_debug_disable_signals(); }

std::string ucx_compiled_version() { return std::to_string(UCP_API_MAJOR) + "." + std::to_string(UCP_API_MINOR); }

std::string ucx_runtime_version() {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  ucp_get_version(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

void route_ucx_logs(UcxLogSink sink) {
  const bool first = load_acquire(&log_sink) == nullptr;
  if (sink == nullptr) {
    if (!first) return;
    sink = &to_stderr;
  }
  store_release(&log_sink, sink);
  if (first) ucs_log_push_handler(&handle_log);
}

}  // namespace rde
