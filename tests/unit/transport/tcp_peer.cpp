// The other process of tcp_process_test.cpp.
//
//   unit_tcp_peer listen        prints its address, then delivers what it is asked for and echoes the rest
//   unit_tcp_peer signals       prints "default" where UCX holds none of the five signals
//   unit_tcp_peer descriptors   prints how many descriptors above stderr it was born with
#include "tcp_peer.h"

#include <dirent.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "giver.h"
#include "transport/ucx/ucx_runtime.h"
#include "transport/ucx/ucx_transport.h"

using namespace rde;
using namespace rde::test;

namespace {

int listen_for_ever() {
  Giver giver;
  Arena arena(kPeerArena);
  std::ranges::copy(pattern(kPeerArena, kPeerSeed), arena.bytes().begin());
  auto transport = *UcxTransport::create({.devices = {"lo"}});
  giver.memory = *transport->add_memory(arena.bytes());
  const auto where = transport->listen(*resolve({"127.0.0.1", 0}), giver);
  if (!where) return 1;
  std::printf("%s\n", where->text().c_str());
  std::fflush(stdout);
  for (;;) transport->progress(now_ns());
}

int show_signals() {
  bool all_default = true;
  for (const int signal : {SIGHUP, SIGILL, SIGBUS, SIGFPE, SIGSEGV}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    all_default &= action.sa_handler == SIG_DFL;
  }
  std::puts(all_default ? "default" : "taken");
  return 0;
}

int show_descriptors() {
  int count = -1;  // the directory itself
  DIR* directory = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(directory)) count += std::atoi(entry->d_name) > 2 ? 1 : 0;
  ::closedir(directory);
  std::printf("%d\n", count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "descriptors") return show_descriptors();
  take_back_signals();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (mode == "signals") return show_signals();
  return mode == "listen" ? listen_for_ever() : 2;
}
