// A use of a region that a peer's engine exposed. The bytes of a write travel in the messages themselves, so its memory
// is free as soon as nothing more of it is to be sent.
#pragma once

#include "peer/peer_task.h"
#include "region/region_job.h"

namespace rde {

class RegionTask final : public PeerTask {
 public:
  void begin(RegionJob& job, Memory& memory, RemotePeer* peer, const SliceSizes& sizes);

  std::optional<Slice> next_slice() override;
  [[nodiscard]] bool can_issue() const override { return !is_failing() && next_ < end_; }
  std::span<const std::byte> encode(const Slice& slice, const Envelope& envelope,
                                    std::span<std::byte> room) const override;
  void on_slice(const Slice& slice, const wire::DataHeader& data) override;
  void on_answer(const wire::RegionDoneMessage& done) override;
  bool has_ended() override { return in_flight_ == 0 && (is_failing() || next_ == end_); }
  void write_answer(PeerCounters& counters) override;
  void give_back(TaskPools& pools) override;
  [[nodiscard]] RegionJob& job() const override { return *job_; }

 private:
  [[nodiscard]] wire::RegionWordMessage word_message(std::uint64_t id) const;

  RegionJob* job_ = nullptr;
  std::uint32_t slice_size_ = 0;
  std::uint64_t next_ = 0;  // bytes of a transfer that are asked for
  std::uint64_t end_ = 0;   // its length; 1 of an operation on a word
  std::uint64_t value_ = 0;
};

}  // namespace rde
