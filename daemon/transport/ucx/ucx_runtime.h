// What UCX does to the whole process, taken in hand.
//
//   int main() {
//     rde::take_back_signals();                 // first thing: UCX took them when it was loaded
//     rde::route_ucx_logs(&to_my_log);          // before the first UcxTransport
//     log(rde::ucx_runtime_version());          // "1.13.1"
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rde {

// Gives HUP, ILL, BUS, FPE and SEGV back to what they were before UCX was loaded. Call it before any
// other thread exists, then install handlers of your own.
void take_back_signals();

std::string ucx_compiled_version();  // major.minor of the headers
std::string ucx_runtime_version();   // major.minor.release of the library

enum class UcxLogLevel : std::uint8_t { error, warning, info, debug };

// Called with one line, without a newline, from any thread, also from inside UCX: it must not block,
// throw, or call UCX.
using UcxLogSink = void (*)(UcxLogLevel level, std::string_view line);

// Sends UCX's messages to `sink`; without this call they go to stderr once a transport exists. They
// never go to stdout. Call it once, before other threads use UCX.
void route_ucx_logs(UcxLogSink sink);

}  // namespace rde
