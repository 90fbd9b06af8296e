#include "peer/psk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "base/descriptor.h"

namespace rde {

Result<std::vector<std::byte>> read_psk(const std::string& path) {
  constexpr std::size_t kLeast = 16;
  constexpr std::size_t kMost = 1024;
  const auto bad = [&](const std::string& why) {
    return Error{Status::invalid_request, "--psk-file " + path + ": " + why};
  };
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || fstat(file.get(), &status) != 0) return bad(std::strerror(errno));
  if ((status.st_mode & (S_IRWXO | S_IWGRP)) != 0) return bad("others may read or change it; chmod 0600 it");
  std::array<char, kMost + 2> text{};
  const ssize_t count = read(file.get(), text.data(), text.size());
  if (count < 0) return bad(std::strerror(errno));
  std::string_view key(text.data(), static_cast<std::size_t>(count));
  while (!key.empty() && std::string_view(" \t\r\n").find(key.back()) != std::string_view::npos) key.remove_suffix(1);
  if (key.size() < kLeast || key.size() > kMost) {
    return bad("the key has " + std::to_string(key.size()) + " bytes; want 16 to 1024, as from: openssl rand -hex 32");
  }
  const auto bytes = std::as_bytes(std::span(key.data(), key.size()));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

}  // namespace rde
