// Looks names up on threads of its own, since that may take seconds.
//
//   Resolver resolver;
//   resolver.resolve(client, {"storage-7", 18515}, [&](Result<SocketAddress> where) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/host_port.h"

namespace rde {

class Resolver {
 public:
  // Runs on a thread of the resolver; should be short.
  using Answer = std::function<void(Result<SocketAddress>)>;
  using Lookup = std::function<Result<SocketAddress>(const HostPort&)>;

  // `lookup` is a function that may block; another one than the system's serves tests.
  explicit Resolver(Lookup lookup = rde::resolve);
  // No answer runs any more afterwards. Does not wait for a look-up that is under way.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Any thread. One look-up at a time for each asker, in order: one whose names take long holds up itself.
  void resolve(std::uint64_t asker, HostPort where, Answer answer);

 private:
  struct State;
  static void run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

// Whether a host is an address already, so that resolving it does not block.
bool is_numeric(const std::string& host);

}  // namespace rde
