// A client of the older socket protocol, for measures: frames of a little-endian u32 and MessagePack, answered in
// order.
//
//   auto door = DoorClient::connect(path);
//   auto times = (*door)->round_trips(length);              // nanoseconds of each Ping
//   auto rate = DoorClient::rate(doors, 16, length, &watch);  // Pings a second, 16 outstanding on each
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "bench/rate.h"

namespace rde::tools {

class DoorClient {
 public:
  // Errors: system_error, naming the path.
  static Result<std::unique_ptr<DoorClient>> connect(const std::string& path);

  // Of one Ping after another. Errors: system_error; operation_failed where the answer is not that of the Ping.
  Result<std::vector<double>> round_trips(Nanoseconds length);
  // Of all clients together, on one thread. Each sends `outstanding` at once and takes their answers in its next turn.
  static Result<Rate> rate(std::vector<std::unique_ptr<DoorClient>>& clients, unsigned outstanding, Nanoseconds length,
                           SwitchWatch* watch);

 private:
  explicit DoorClient(Descriptor socket) : socket_(std::move(socket)) {}
  // In one system call, where the socket takes it.
  Result<void> send_pings(unsigned count);
  Result<void> take_pongs(unsigned count);
  Result<bool> take_one();

  Descriptor socket_;
  std::vector<char> input_;
  std::size_t taken_ = 0;
  std::uint64_t sent_ = 0;      // the timestamp of the last Ping: each has its own
  std::uint64_t answered_ = 0;  // of the last Pong
};

}  // namespace rde::tools
