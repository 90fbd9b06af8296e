#include "engine/signals.h"

#include <csignal>
#include <initializer_list>

#ifdef RDE_WITH_UCX
#include "transport/ucx/ucx_runtime.h"
#endif

namespace rde {

void own_signals() {
#ifdef RDE_WITH_UCX
  take_back_signals();
#endif
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (const int signal : {SIGHUP, SIGILL, SIGBUS, SIGFPE, SIGSEGV}) sigaction(signal, &action, nullptr);
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, nullptr);
  sigaction(SIGXFSZ, &action, nullptr);  // a memory file beyond ulimit -f is an error of that one client
}

}  // namespace rde
