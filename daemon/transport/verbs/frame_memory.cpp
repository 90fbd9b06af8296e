#include "transport/verbs/frame_memory.h"

#include <sys/mman.h>

#include <cerrno>

#include "transport/verbs/verbs_device.h"

namespace rde {

void FrameMemory::Unmap::operator()(std::byte* at) const { ::munmap(at, kSize); }

Result<std::unique_ptr<FrameMemory>> FrameMemory::open(ibv_pd* domain) {
  auto memory = std::make_unique<FrameMemory>();
  void* at = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return system_error("memory of a link's frames", errno);
  memory->bytes_.reset(static_cast<std::byte*>(at));
  memory->registration_.reset(ibv_reg_mr(domain, at, kSize, unsigned{IBV_ACCESS_LOCAL_WRITE}));
  if (!memory->registration_) {
    return verbs_error(Status::registration_failed, "registering a link's frames (check ulimit -l)", errno);
  }
  memory->free_.reserve(kSendFrames);
  for (std::uint16_t i = 0; i < kSendFrames; ++i) memory->free_.push_back(i);
  return memory;
}

}  // namespace rde
