// Both ends of links, writing down what they are told; and memory to land in.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "../support/bytes.h"
#include "base/descriptor.h"
#include "transport/transport.h"

namespace rde::test {

inline std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2'654'435'761U + 1;
  for (auto& byte : bytes) {
    state = state * 1'664'525U + 1'013'904'223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A shared memfd, in huge pages where the machine has some free.
class Arena {
 public:
  explicit Arena(std::size_t size) : size_(size) {
    for (const unsigned flags : {MFD_CLOEXEC | MFD_HUGETLB, MFD_CLOEXEC | 0U}) {
      fd_ = Descriptor(::memfd_create("test arena", flags));
      if (!fd_ || ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)) != 0) continue;
      void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
      if (at == MAP_FAILED) continue;
      data_ = static_cast<std::byte*>(at);
      return;
    }
  }
  ~Arena() {
    if (data_ != nullptr) ::munmap(data_, size_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::size_t size_;
  Descriptor fd_;
  std::byte* data_ = nullptr;
};

struct Ends final : LinkObserver, LinkAcceptor {
  struct Landed {
    std::string header;
    std::uint32_t bytes = 0;
    Status status = Status::internal;
  };
  std::vector<Link*> up;
  std::vector<std::string> messages;
  std::map<std::uint64_t, Landed> landed;
  std::vector<Status> delivered;
  std::vector<Error> down;
  bool accepts = true;
  unsigned double_landings = 0;

  void on_up(Link& link) override { up.push_back(&link); }
  void on_message(Link& /*link*/, std::span<const std::byte> message) override { messages.push_back(text_of(message)); }
  void on_landed(Link& /*link*/, std::uint64_t id, std::span<const std::byte> header, std::uint32_t bytes,
                 Status status) override {
    double_landings += landed.contains(id) ? 1 : 0;
    landed[id] = {text_of(header), bytes, status};
  }
  void on_delivered(Link& /*link*/, void* /*context*/, Status status) override { delivered.push_back(status); }
  void on_down(Link& link, const Error& why) override {
    std::erase(up, &link);
    down.push_back(why);
  }
  LinkObserver* on_accept(Link& /*link*/) override { return accepts ? this : nullptr; }
};

}  // namespace rde::test
