// Threads of one client that send NOPs at the same time, each on a channel of its own.
//
//   auto producers = Producers::attach(socket, 16, 64);
//   auto rate = producers->rate(length, processor);       // NOPs a second, of all together
#pragma once

#include <memory>
#include <string>

#include "client/client.h"

namespace rde::tools {

class Producers {
 public:
  // So many threads, with `outstanding` NOPs each.
  static Result<Producers> attach(const std::string& socket, unsigned threads, std::uint32_t outstanding);

  // All on one processor. Nothing is outstanding afterwards. Errors: what the engine answers.
  Result<double> rate(Nanoseconds length, int processor);

 private:
  Producers(std::unique_ptr<Client> client, std::uint32_t outstanding)
      : client_(std::move(client)), outstanding_(outstanding) {}
  Result<std::uint64_t> produce(Channel& channel, Nanoseconds end);

  std::unique_ptr<Client> client_;
  std::uint32_t outstanding_;
};

}  // namespace rde::tools
