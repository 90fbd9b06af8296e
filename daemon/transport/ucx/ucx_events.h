// What happened inside UCX callbacks, told to observers later and in order. Callbacks only append, so
// nothing of ours runs inside UCX. Storage is kept, so that a steady state allocates nothing.
//
//   events.push({.what = UcxEvent::What::message, .link = link}, bytes);      // in a callback
//   events.drain([](const UcxEvent& event, std::span<const std::byte> b) {}); // in progress()
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "base/status.h"

namespace rde {

class UcxLink;
struct UcxLanding;

struct UcxEvent {
  enum class What : std::uint8_t { hello, message, bye, landed, delivered, failed };
  What what = What::message;
  Status status = Status::ok;
  std::uint32_t bytes = 0;
  UcxLink* link = nullptr;
  UcxLanding* landing = nullptr;
  void* context = nullptr;
};

class UcxEvents {
 public:
  void push(const UcxEvent& event, std::span<const std::byte> bytes = {}) {
    const std::size_t at = filling_.size();
    const std::size_t padded = (bytes.size() + alignof(Entry) - 1) / alignof(Entry) * alignof(Entry);
    filling_.resize(at + sizeof(Entry) + padded);
    const Entry entry{event, bytes.size(), sizeof(Entry) + padded};
    std::memcpy(filling_.data() + at, &entry, sizeof(entry));
    if (!bytes.empty()) std::memcpy(filling_.data() + at + sizeof(Entry), bytes.data(), bytes.size());
  }

  // Calls `handle` for each event pushed before; what it pushes waits for the next drain.
  template <class Handle>
  unsigned drain(Handle handle) {
    draining_.swap(filling_);
    unsigned count = 0;
    for (std::size_t at = 0; at < draining_.size(); ++count) {
      Entry entry;
      std::memcpy(&entry, draining_.data() + at, sizeof(entry));
      handle(entry.event, std::span<const std::byte>(draining_).subspan(at + sizeof(Entry), entry.length));
      at += entry.stride;
    }
    draining_.clear();
    return count;
  }

  [[nodiscard]] bool empty() const { return filling_.empty(); }

 private:
  struct Entry {
    UcxEvent event;
    std::size_t length;
    std::size_t stride;
  };
  std::vector<std::byte> filling_;
  std::vector<std::byte> draining_;
};

}  // namespace rde
