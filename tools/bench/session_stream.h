// Sessions of one client, opened and closed with many requests outstanding.
//
//   auto sessions = SessionStream::attach(socket, 64);
//   auto rate = sessions->rate(length, &watch);         // pairs of open and close a second
#pragma once

#include <memory>
#include <vector>

#include "bench/rate.h"
#include "client/client.h"

namespace rde::tools {

class SessionStream {
 public:
  // `outstanding` requests at once, 1 to 1024.
  static Result<SessionStream> attach(const std::string& socket, std::uint32_t outstanding);

  // Every session that it opened is closed afterwards. Errors: what the engine answers.
  Result<Rate> rate(Nanoseconds length, SwitchWatch* watch);
  [[nodiscard]] std::uint64_t closed() const { return closed_; }

 private:
  SessionStream(std::unique_ptr<Client> client, std::uint32_t outstanding)
      : client_(std::move(client)), outstanding_(outstanding) {}
  Result<void> turn(bool may_open);
  Result<void> submit(bool may_open);
  Result<void> take_answers();

  std::unique_ptr<Client> client_;
  std::uint32_t outstanding_;
  std::vector<std::uint64_t> open_;
  std::uint64_t closed_ = 0;
};

}  // namespace rde::tools
