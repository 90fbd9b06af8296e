// NOPs of one client with many outstanding.
//
//   auto nops = NopStream::attach(socket, 64);
//   auto samples = nops->rate(length);              // operations a second
#pragma once

#include <memory>
#include <vector>

#include "client/client.h"

namespace rde::tools {

class NopStream {
 public:
  // `outstanding` at once, 1 to 1024.
  static Result<NopStream> attach(const std::string& socket, std::uint32_t outstanding);

  // Operations a second, one sample for each 4,096 and some. Nothing is outstanding afterwards. Errors: what the engine
  // answers.
  Result<std::vector<double>> rate(Nanoseconds length);
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
