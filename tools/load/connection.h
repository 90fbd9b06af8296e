// The one connection of a process, shared by its producers; made anew when an engine is lost.
//
//   Connection connection(options);
//   if (auto opened = connection.open(); !opened) return opened.error();
//   auto lease = connection.lease();
//   Channel& channel = lease.client->channel(my_index);
//   ... the engine is gone ...
//   auto next = connection.renew(lease, [&] { return time_is_over(); });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "client/client.h"

namespace rde::tools {

class Connection {
 public:
  explicit Connection(AttachOptions options) : options_(std::move(options)) {}

  struct Lease {
    std::shared_ptr<Client> client;  // a lost one lives until the last producer has let go of it
    std::uint64_t number = 0;        // of the attachment, counted from 1
  };

  Result<void> open();
  [[nodiscard]] Lease lease();
  // Attaches again, with back-off from 10 ms to 1 s, unless another producer has done so since `lost`. Nothing when
  // give_up() says so. Any thread.
  std::optional<Lease> renew(const Lease& lost, const std::function<bool()>& give_up);

 private:
  AttachOptions options_;
  std::mutex mutex_;
  Lease current_;
};

}  // namespace rde::tools
