#include "bench/unix_echo.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rde::tools {
namespace {

constexpr std::size_t kMessage = 64;
constexpr std::size_t kMost = 64 * 1024;
constexpr std::size_t kMessagesPerSample = 1024;

bool write_all(int socket, const std::byte* bytes, std::size_t length) {
  while (length != 0) {
    const ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    length -= static_cast<std::size_t>(sent);
  }
  return true;
}

// What came, in whole messages; 0 at the end.
std::size_t read_messages(int socket, std::array<std::byte, kMost>& to, std::size_t most) {
  std::size_t have = 0;
  do {
    const ssize_t count = read(socket, to.data() + have, most - have);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 0;
    have += static_cast<std::size_t>(count);
  } while (have % kMessage != 0);
  return have;
}

void echo(int socket) {
  std::array<std::byte, kMost> bytes;
  while (const std::size_t length = read_messages(socket, bytes, kMost)) {
    if (!write_all(socket, bytes.data(), length)) return;
  }
}

}  // namespace

UnixEcho::UnixEcho(Descriptor here, Descriptor there, const Placement& placement)
    : here_(std::move(here)), there_(std::move(there)), other_([socket = there_.get(), processor = placement.engine] {
        (void)pin_thread(processor);
        echo(socket);
      }) {}

UnixEcho::~UnixEcho() { shutdown(here_.get(), SHUT_RDWR); }

Result<std::unique_ptr<UnixEcho>> UnixEcho::start(const Placement& placement) {
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return system_error("socketpair", errno);
  return std::unique_ptr<UnixEcho>(new UnixEcho(Descriptor(pair[0]), Descriptor(pair[1]), placement));
}

Result<std::vector<double>> UnixEcho::round_trips(Nanoseconds length) {
  std::vector<double> samples;
  std::array<std::byte, kMost> bytes{};
  const Nanoseconds end = now_ns() + length;
  for (Nanoseconds start = now_ns(); start < end;) {
    if (!write_all(here_.get(), bytes.data(), kMessage) || read_messages(here_.get(), bytes, kMessage) == 0)
      return system_error("Unix socket", errno);
    const Nanoseconds now = now_ns();
    samples.push_back(static_cast<double>(now - start));
    start = now;
  }
  return samples;
}

Result<std::vector<double>> UnixEcho::rate(Nanoseconds length, std::size_t outstanding) {
  std::vector<double> samples;
  std::array<std::byte, kMost> bytes{};
  std::size_t free = outstanding * kMessage, done = 0;
  const Nanoseconds end = now_ns() + length;
  for (Nanoseconds start = now_ns(); start < end;) {
    if (!write_all(here_.get(), bytes.data(), free)) return system_error("Unix socket", errno);
    free = read_messages(here_.get(), bytes, outstanding * kMessage);
    if (free == 0) return system_error("Unix socket", errno);
    done += free / kMessage;
    const Nanoseconds now = now_ns();
    if (done < kMessagesPerSample) continue;
    samples.push_back(static_cast<double>(done) * 1e9 / static_cast<double>(now - start));
    start = now;
    done = 0;
  }
  // What is still on its way comes back before the next use.
  for (std::size_t left = outstanding * kMessage - free; left != 0;) {
    const std::size_t count = read_messages(here_.get(), bytes, left);
    if (count == 0) return system_error("Unix socket", errno);
    left -= count;
  }
  return samples;
}

}  // namespace rde::tools
