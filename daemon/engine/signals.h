// Signal handlers that libraries install when they are loaded are taken back here.
#pragma once

namespace rde {

// First thing in main: HUP, ILL, BUS, FPE and SEGV have their default actions again, PIPE is ignored.
void own_signals();

}  // namespace rde
