// A read or stat of an object, cut into slices: what came back, and what it adds up to.
//
//   task.begin(job, memory, peer, {.slice = 1 << 20, .small_read = 64 << 10});
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "object/object_source.h"
#include "peer/peer_task.h"

namespace rde {

class ReadTask final : public PeerTask {
 public:
  void begin(ObjectJob& job, Memory& memory, RemotePeer* peer, const SliceSizes& sizes);

  std::optional<Slice> next_slice() override;
  [[nodiscard]] bool can_issue() const override;
  std::span<const std::byte> encode(const Slice& slice, const Envelope& envelope,
                                    std::span<std::byte> room) const override;
  void on_slice(const Slice& slice, const wire::DataHeader& data) override;
  void on_answer(const wire::RegionDoneMessage& done) override;
  [[nodiscard]] bool is_failing() const override { return PeerTask::is_failing() || must_restart_; }
  bool has_ended() override;
  void write_answer(PeerCounters& counters) override;
  void give_back(TaskPools& pools) override;
  [[nodiscard]] ObjectJob& job() const override { return *job_; }

 private:
  static constexpr std::uint32_t kWindow = 8;  // slices from the first unfinished one to the last asked for
  struct Part {
    bool done = false;
    std::uint32_t bytes = 0;
    std::uint32_t crc = 0;
  };

  void start();
  void sum_up();
  void advance_front();
  [[nodiscard]] std::uint64_t wanted() const;  // bytes, as far as known
  [[nodiscard]] std::uint64_t slice_length(std::uint32_t index) const;

  ObjectJob* job_ = nullptr;
  std::uint32_t slice_size_ = 0;
  bool has_restarted_ = false;

  bool must_restart_ = false;
  std::uint32_t next_ = 0;   // slice to ask for
  std::uint32_t front_ = 0;  // first slice that is not finished
  std::array<Part, kWindow> parts_{};
  bool facts_known_ = false;  // of the object, from the first answer that came
  std::uint64_t object_size_ = 0;
  std::uint32_t etag_ = 0;
  std::uint16_t flags_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace rde
