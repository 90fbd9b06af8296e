// NOPs of one client with many outstanding.
//
//   auto nops = NopStream::attach(socket, 64);
//   auto rate = nops->rate(length, &watch);         // rate->samples: operations a second
#pragma once

#include <memory>

#include "bench/rate.h"
#include "client/client.h"

namespace rde::tools {

class NopStream {
 public:
  // `outstanding` at once, 1 to 1024.
  static Result<NopStream> attach(const std::string& socket, std::uint32_t outstanding);

  // Nothing is outstanding afterwards. Errors: what the engine answers.
  Result<Rate> rate(Nanoseconds length, SwitchWatch* watch = nullptr);
  [[nodiscard]] std::uint64_t done() const { return done_; }

 private:
  NopStream(std::unique_ptr<Client> client, std::uint32_t outstanding)
      : client_(std::move(client)), outstanding_(outstanding) {}
  Result<void> turn();
  Result<void> drain();

  std::unique_ptr<Client> client_;
  std::uint32_t outstanding_;
  std::uint64_t done_ = 0;
};

}  // namespace rde::tools
