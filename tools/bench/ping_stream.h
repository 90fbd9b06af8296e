// PINGs of one client with 4 KiB each that the client fills and the engine reads, many outstanding.
//
//   auto pings = PingStream::attach(socket, 64);
//   auto rate = pings->rate(length, &watch);         // rate->samples: operations a second
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "bench/rate.h"
#include "client/client.h"

namespace rde::tools {

inline constexpr std::uint32_t kPingBytes = 4096;

// The CRC32C of 4 KiB of each byte.
std::array<std::uint32_t, 256> crcs_of_filled_pages();

class PingStream {
 public:
  // `outstanding` at once, 1 to 1024.
  static Result<PingStream> attach(const std::string& socket, std::uint32_t outstanding);

  // Nothing is outstanding afterwards. Errors: what the engine answers; operation_failed where a CRC is not that of the
  // bytes.
  Result<Rate> rate(Nanoseconds length, SwitchWatch* watch = nullptr);

 private:
  explicit PingStream(std::unique_ptr<Client> client) : client_(std::move(client)), crcs_(crcs_of_filled_pages()) {}
  Result<void> turn(bool may_send);
  Result<void> send();
  Result<void> take_answers();

  struct Page {
    Buffer buffer;
    std::uint8_t value = 0;
  };

  std::unique_ptr<Client> client_;
  std::array<std::uint32_t, 256> crcs_;
  std::vector<Page> pages_;
  std::vector<std::uint32_t> free_;  // of the pages
  std::uint8_t next_ = 0;
  std::uint64_t done_ = 0;
};

}  // namespace rde::tools
