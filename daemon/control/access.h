// Who may use this engine, by what the kernel says of a socket's other end.
#pragma once

#include <unistd.h>

#include "config/config.h"
#include "prim/socket.h"

namespace rde {

// Root, the engine's own user, and whom --allow-uid and --allow-gid name.
inline bool may_use(const Config& config, const prim::PeerIdentity& who) {
  return who.uid == 0 || who.uid == geteuid() || config.allow_uid.contains(who.uid) ||
         config.allow_gid.contains(who.gid);
}

}  // namespace rde
