// Anonymous shared memory, as the kernel offers it. The only place of the library that makes, sizes and seals memfds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/descriptor.h"
#include "base/status.h"

namespace rde::prim {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;

// An empty memfd (CLOEXEC, sealable, mode 0600); `huge` takes 2 MiB hugepages.
Result<Descriptor> make_memory_file(const char* name, bool huge);

// Sets the size, once, and forbids to change it (SHRINK, GROW).
Result<void> size_and_seal(int fd, std::uint64_t size);

// Allocates every page, so that no touch can fail later. Errors: no_hugepages or out_of_memory, with the sizes.
Result<void> allocate(int fd, std::uint64_t size, bool huge);

// From now on: no new writable mapping, no hole, no further seal. Mappings made before stay as they are.
Result<void> seal_future_writes(int fd);

// Whether nobody can make a touch of a mapping fail: never shrunk nor grown, and, where `writes`, no hole either.
// Errors: segment_invalid, naming the seals.
Result<void> check_seals(int fd, bool writes);

// Faults every page in for writing, without ever raising SIGBUS; after allocate(). Errors: out_of_memory.
Result<void> prefault(std::span<std::byte> bytes);

// Keeps a mapping out of forked children.
void exclude_from_fork(std::span<std::byte> bytes);

struct FileSize {
  std::uint64_t bytes = 0;
  std::uint32_t page_size = 0;  // of the file system: 4096, or 2 MiB for hugetlb
};
Result<FileSize> size_of_file(int fd);

struct HugePool {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};
// The pool of 2 MiB pages; zeros where the kernel has none.
HugePool huge_pool();

}  // namespace rde::prim
