#include "bench/door_client.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

namespace rde::tools {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kLongestPong = 4096;
constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

// {"type": "Ping", "data": {"timestamp_ns": N}}
void append_ping(msgpack::sbuffer& to, std::uint64_t timestamp) {
  msgpack::sbuffer body;
  msgpack::packer packer(body);
  packer.pack_map(2);
  packer.pack("type");
  packer.pack("Ping");
  packer.pack("data");
  packer.pack_map(1);
  packer.pack("timestamp_ns");
  packer.pack_uint64(timestamp);
  std::array<char, kLengthBytes> length;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length[i] = static_cast<char>(body.size() >> 8 * i);
  to.write(length.data(), length.size());
  to.write(body.data(), body.size());
}

// ["Pong", [client's timestamp, …]]: the timestamp. Errors: operation_failed.
Result<std::uint64_t> timestamp_of(const char* bytes, std::size_t length) {
  try {
    const auto handle = msgpack::unpack(bytes, length);
    const auto reply = handle->as<std::vector<msgpack::object>>();
    if (reply.size() == 2 && reply[0].as<std::string>() == "Pong") {
      const auto fields = reply[1].as<std::vector<msgpack::object>>();
      if (!fields.empty()) return fields[0].as<std::uint64_t>();
    }
  } catch (const std::exception&) {  // as msgpack-cxx tells that it is something else
  }
  return Error{Status::operation_failed, "the socket answered something else than a Pong"};
}

}  // namespace

Result<std::unique_ptr<DoorClient>> DoorClient::connect(const std::string& path) {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Error{Status::invalid_request, path + " is too long for a socket"};
  std::memcpy(static_cast<char*>(address.sun_path), path.c_str(), path.size() + 1);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    setsockopt(socket.get(), SOL_SOCKET, option, &kPatience, sizeof kPatience);
  }
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return system_error("connect to " + path, errno);
  }
  return std::unique_ptr<DoorClient>(new DoorClient(std::move(socket)));
}

Result<void> DoorClient::send_pings(unsigned count) {
  msgpack::sbuffer out;
  for (unsigned i = 0; i < count; ++i) append_ping(out, ++sent_);
  for (std::size_t at = 0; at < out.size();) {
    const ssize_t sent = send(socket_.get(), out.data() + at, out.size() - at, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return system_error("write to the engine's socket", errno);
    if (sent > 0) at += static_cast<std::size_t>(sent);
  }
  return {};
}

// False where it has not come whole.
Result<bool> DoorClient::take_one() {
  const std::size_t left = input_.size() - taken_;
  if (left < kLengthBytes) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(input_.data() + taken_);
  const std::size_t length = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | std::size_t{bytes[3]} << 24;
  if (length > kLongestPong) return Error{Status::operation_failed, "the socket answered a frame that is too long"};
  if (left < kLengthBytes + length) return false;
  const auto timestamp = timestamp_of(input_.data() + taken_ + kLengthBytes, length);
  if (!timestamp) return timestamp.error();
  if (*timestamp != ++answered_) return Error{Status::operation_failed, "the socket answered out of order"};
  taken_ += kLengthBytes + length;
  return true;
}

Result<void> DoorClient::take_pongs(unsigned count) {
  constexpr std::size_t kPiece = 16'384;
  while (count != 0) {
    const auto taken = take_one();
    if (!taken) return taken.error();
    if (*taken) {
      --count;
      continue;
    }
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
    const std::size_t have = input_.size();
    input_.resize(have + kPiece);
    const ssize_t got = recv(socket_.get(), input_.data() + have, kPiece, 0);
    input_.resize(have + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return Error{Status::engine_gone, "the engine closed its socket"};
    if (got < 0 && errno != EINTR) return system_error("read from the engine's socket", errno);
  }
  return {};
}

Result<std::vector<double>> DoorClient::round_trips(Nanoseconds length) {
  std::vector<double> samples;
  const Nanoseconds end = now_ns() + length;
  for (Nanoseconds start = now_ns(); start < end;) {
    if (auto sent = send_pings(1); !sent) return sent.error();
    if (auto taken = take_pongs(1); !taken) return taken.error();
    const Nanoseconds now = now_ns();
    samples.push_back(static_cast<double>(now - start));
    start = now;
  }
  return samples;
}

Result<Rate> DoorClient::rate(std::vector<std::unique_ptr<DoorClient>>& clients, unsigned outstanding,
                              Nanoseconds length, SwitchWatch* watch) {
  std::uint64_t done = 0;
  for (auto& client : clients) {
    if (auto sent = client->send_pings(outstanding); !sent) return sent.error();
  }
  auto rate = windows_of(
      length, watch, [&] { return done; },
      [&]() -> Result<void> {
        for (auto& client : clients) {
          if (auto taken = client->take_pongs(outstanding); !taken) return taken;
          done += outstanding;
          if (auto sent = client->send_pings(outstanding); !sent) return sent;
        }
        return {};
      });
  if (!rate) return rate;
  for (auto& client : clients) {
    if (auto taken = client->take_pongs(outstanding); !taken) return taken.error();
  }
  return rate;
}

}  // namespace rde::tools
