// The other process of verbs_process_test.cpp: prints its address, then delivers what it is asked for.
#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>

#include "giver.h"
#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"

using namespace rde;
using namespace rde::test;

int main() {
  spdlog::set_level(spdlog::level::warn);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  Giver giver;
  Arena arena(kVerbsArena);
  std::ranges::copy(pattern(kVerbsArena, kPeerSeed), arena.bytes().begin());
  const auto addresses = verbs_addresses({});
  auto transport = VerbsTransport::create({});
  if (addresses.empty() || !transport) return 1;
  giver.memory = *(*transport)->add_memory(arena.bytes());
  const auto where = (*transport)->listen(addresses[0], giver);
  if (!where) return 1;
  std::printf("%s\n", where->text().c_str());
  std::fflush(stdout);
  for (;;) (*transport)->progress(now_ns());
}
