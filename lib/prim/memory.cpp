#include "prim/memory.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace rde::prim {

Result<Descriptor> make_memory_file(const char* name, bool huge) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0U);
  Descriptor file(memfd_create(name, flags));
  if (!file) return system_error(huge ? "memfd_create with hugepages" : "memfd_create", errno);
  if (fchmod(file.get(), 0600) != 0) return system_error("fchmod of the segment", errno);
  return file;
}

Result<void> size_and_seal(int fd, std::uint64_t size) {
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) return system_error("ftruncate to " + std::to_string(size), errno);
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return system_error("seal the segment's size", errno);
  return {};
}

Result<void> allocate(int fd, std::uint64_t size, bool huge) {
  int code = 0;
  do {
    code = fallocate(fd, 0, 0, static_cast<off_t>(size)) == 0 ? 0 : errno;
  } while (code == EINTR);
  if (code == 0) return {};
  auto error = system_error("allocate " + std::to_string(size) + " bytes", code);
  if (huge) {
    const auto pool = huge_pool();
    error.status = Status::no_hugepages;
    error.text += " (hugepages needed: " + std::to_string(size / kHugePage) + ", free: " + std::to_string(pool.free) +
                  " of " + std::to_string(pool.total) + "; raise vm.nr_hugepages)";
  } else {
    error.status = Status::out_of_memory;
    error.text += " (use a smaller --segment-size, or raise the memory limit)";
  }
  return error;
}

Result<void> seal_future_writes(int fd) {
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    return system_error("seal the segment's writes", errno);
  return {};
}

Result<void> check_seals(int fd, bool writes) {
  const int want = F_SEAL_SHRINK | F_SEAL_GROW | (writes ? F_SEAL_FUTURE_WRITE | F_SEAL_SEAL : 0);
  const int have = fcntl(fd, F_GET_SEALS);
  if (have < 0) return Error{Status::segment_invalid, "the segment is not a memory file that can be sealed"};
  if ((have & want) == want) return {};
  return Error{Status::segment_invalid,
               "the segment has seals " + std::to_string(have) + ", want at least " + std::to_string(want)};
}

Result<void> prefault(std::span<std::byte> bytes) {
  int code = 0;
  do {
    // Unlike a touch, this answers an error where a page cannot be had.
    code = madvise(bytes.data(), bytes.size(), MADV_POPULATE_WRITE) == 0 ? 0 : errno;
  } while (code == EINTR || code == EAGAIN);
  // Before Linux 5.14 there is no such advice; allocate() has made every page, so a touch cannot fail.
  if (code == 0 || code == EINVAL) return {};
  auto error = system_error("prefault " + std::to_string(bytes.size()) + " bytes", code);
  error.status = Status::out_of_memory;
  return error;
}

void exclude_from_fork(std::span<std::byte> bytes) { madvise(bytes.data(), bytes.size(), MADV_DONTFORK); }

Result<FileSize> size_of_file(int fd) {
  struct stat status {};
  struct statfs system {};
  if (fstat(fd, &status) != 0) return system_error("fstat of the segment", errno);
  if (fstatfs(fd, &system) != 0) return system_error("fstatfs of the segment", errno);
  return FileSize{static_cast<std::uint64_t>(status.st_size), static_cast<std::uint32_t>(system.f_bsize)};
}

HugePool huge_pool() {
  const auto number = [](const char* file) {
    std::uint64_t value = 0;
    std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/" + std::string(file)) >> value;
    return value;
  };
  return {number("nr_hugepages"), number("free_hugepages")};
}

}  // namespace rde::prim
