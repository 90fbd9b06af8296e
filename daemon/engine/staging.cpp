#include "engine/staging.h"

#include <spdlog/spdlog.h>

#include "prim/memory.h"

namespace rde {
namespace {

Result<Mapping> allocate_on(std::uint64_t size, bool huge) {
  auto file = prim::make_memory_file("rde-staging", huge);
  if (!file) return file.error();
  if (auto sized = prim::size_and_seal(file->get(), size); !sized) return sized.error();
  if (auto allocated = prim::allocate(file->get(), size, huge); !allocated) return allocated.error();
  return Mapping::map(file->get(), Mapping::Access::read_write);
}

}  // namespace

Result<Staging> Staging::allocate(std::uint64_t size, HugepageMode mode) {
  size = (size + prim::kHugePage - 1) / prim::kHugePage * prim::kHugePage;
  auto mapping = allocate_on(size, mode != HugepageMode::off);
  if (!mapping && mode == HugepageMode::prefer) {
    spdlog::warn("staging memory on ordinary pages reason=\"{}\"", mapping.error().text);
    mapping = allocate_on(size, false);
  }
  if (!mapping) return mapping.error().in("--buffer-size");
  return Staging(std::move(*mapping));
}

}  // namespace rde
