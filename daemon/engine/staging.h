// Memory of the engine's own from which peers are served: hugepages where there are some.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "segment/mapping.h"
#include "segment/segment.h"

namespace rde {

class Staging {
 public:
  // `size` is rounded up to whole hugepages. Errors: no_hugepages (mode require), out_of_memory.
  static Result<Staging> allocate(std::uint64_t size, HugepageMode mode);
  [[nodiscard]] std::span<std::byte> bytes() const { return mapping_.bytes(); }

 private:
  explicit Staging(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

}  // namespace rde
