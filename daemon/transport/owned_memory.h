// Memory that needs no registration: for fabrics that copy.
#pragma once

#include <memory>
#include <vector>

#include "transport/transport.h"

namespace rde {

// True where all of `part` lies in `whole`. An empty part lies everywhere.
inline bool lies_in(std::span<const std::byte> whole, std::span<const std::byte> part) {
  if (part.empty()) return true;
  const auto start = reinterpret_cast<std::uintptr_t>(whole.data());
  const auto at = reinterpret_cast<std::uintptr_t>(part.data());
  return at >= start && at - start <= whole.size() && part.size() <= whole.size() - (at - start);
}

class PlainMemory : public Memory {
 public:
  explicit PlainMemory(std::span<std::byte> bytes) : Memory(bytes) {}
};

// The list that add_memory() and remove_memory() keep.
template <class M>
class MemoryList {
 public:
  Memory* add(std::unique_ptr<M> memory) { return list_.emplace_back(std::move(memory)).get(); }
  void remove(const Memory* memory) {
    std::erase_if(list_, [&](const auto& entry) { return entry.get() == memory; });
  }

 private:
  std::vector<std::unique_ptr<M>> list_;
};

}  // namespace rde
