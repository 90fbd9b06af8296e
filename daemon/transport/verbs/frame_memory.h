// The registered memory of a link's frames: receives first, then what is on its way out. Never remotely writable.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "transport/verbs/verbs_handles.h"
#include "transport/verbs/verbs_limits.h"
#include "transport/verbs/verbs_wire.h"

namespace rde {

class FrameMemory {
 public:
  static Result<std::unique_ptr<FrameMemory>> open(ibv_pd* domain);

  [[nodiscard]] std::span<std::byte> receive(std::uint32_t index) { return frame(index); }
  [[nodiscard]] std::span<std::byte> send(std::uint32_t index) { return frame(kReceives + index); }
  [[nodiscard]] ibv_sge part(std::span<const std::byte> bytes) const {
    return {.addr = reinterpret_cast<std::uintptr_t>(bytes.data()),
            .length = static_cast<std::uint32_t>(bytes.size()),
            .lkey = registration_->lkey};
  }

  // Frames to send.
  [[nodiscard]] bool has_free() const { return !free_.empty(); }
  std::uint16_t take() {
    const std::uint16_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(std::uint16_t index) { free_.push_back(index); }

 private:
  static constexpr std::size_t kSize = (kReceives + kSendFrames) * kFrameBytes;
  struct Unmap {
    void operator()(std::byte* at) const;
  };
  std::span<std::byte> frame(std::uint32_t index) { return {bytes_.get() + index * kFrameBytes, kFrameBytes}; }

  std::unique_ptr<std::byte, Unmap> bytes_;
  OwnedRegistration registration_;
  std::vector<std::uint16_t> free_;
};

}  // namespace rde
