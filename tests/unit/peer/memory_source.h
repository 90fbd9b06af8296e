// Objects in memory, served as a storage would: later, from progress(). Tests can hold answers back,
// fail them, and change objects under a reader.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "base/crc32c.h"
#include "object/object_source.h"
#include "peer/volumes.h"
#include "rde_layout.h"

namespace rde::test {

class MemorySource final : public ObjectSource, public VolumeList {
 public:
  void put(std::uint32_t volume, std::uint64_t needle, std::vector<std::byte> bytes) {
    objects_[{volume, needle}] = std::move(bytes);
    ++generation_;
  }
  void drop_volume(std::uint32_t volume) {
    std::erase_if(objects_, [&](const auto& entry) { return entry.first.first == volume; });
    ++generation_;
  }
  const std::vector<std::byte>& object(std::uint32_t volume, std::uint64_t needle) {
    return objects_.at({volume, needle});
  }

  bool holds = false;                      // answers wait until this is false
  Status fails_with = Status::ok;          // every answer
  std::function<void(ObjectJob&)> tamper;  // the last word before on_done
  std::vector<ObjectJob*> seen;            // in order of submission
  std::size_t cancels = 0;

  void submit(ObjectJob& job) override {
    seen.push_back(&job);
    jobs_.push_back(&job);
  }
  void cancel(ObjectJob& job) override {
    ++cancels;
    if (std::ranges::find(jobs_, &job) == jobs_.end()) return;
    std::erase(jobs_, &job);
    job.status = Status::cancelled;
    cancelled_.push_back(&job);
  }

  void progress() {
    for (auto& job : std::exchange(cancelled_, {})) job->on_done();
    for (std::size_t left = holds ? 0 : jobs_.size(); left != 0 && !jobs_.empty(); --left) {
      ObjectJob& job = *jobs_.front();
      jobs_.pop_front();
      answer(job);
      if (tamper) tamper(job);
      job.on_done();
    }
  }
  // The hub that submitted them is gone.
  void forget() {
    jobs_.clear();
    cancelled_.clear();
  }
  [[nodiscard]] std::size_t waiting() const { return jobs_.size(); }

  [[nodiscard]] std::uint64_t generation() const override { return generation_; }
  void list(std::vector<std::uint32_t>& ids) const override {
    for (const auto& [key, bytes] : objects_) ids.push_back(key.first);
  }

 private:
  void answer(ObjectJob& job) {
    job.status = fails_with;
    job.flags = RDE_COMPLETION_FLAG_LOCAL;
    const auto it = objects_.find({job.id.volume, job.id.needle});
    if (it == objects_.end()) job.status = Status::object_not_found;
    if (job.status != Status::ok) return;
    const auto& bytes = it->second;
    job.object_size = bytes.size();
    job.etag = crc32c(bytes);
    if (job.kind == ObjectJob::Kind::stat) {
      const rde_object_stat stat{.stored_size = bytes.size(), .etag = job.etag, .volume = job.id.volume};
      if (job.destination.size() < sizeof(stat)) {
        job.status = Status::buffer_too_small;
        return;
      }
      std::memcpy(job.destination.data(), &stat, sizeof(stat));
      job.bytes = sizeof(stat);
      return;
    }
    if (job.offset > bytes.size()) {
      job.status = Status::offset_past_end;
      return;
    }
    const std::size_t count = std::min(job.destination.size(), bytes.size() - job.offset);
    std::memcpy(job.destination.data(), bytes.data() + job.offset, count);
    job.bytes = static_cast<std::uint32_t>(count);
    job.crc = job.skip_crc ? 0 : crc32c(job.destination.first(count));
    if (job.offset + count == bytes.size()) job.flags |= RDE_COMPLETION_FLAG_END;
    if (count != bytes.size()) job.flags |= RDE_COMPLETION_FLAG_UNVERIFIED;
  }

  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::byte>> objects_;
  std::deque<ObjectJob*> jobs_;
  std::vector<ObjectJob*> cancelled_;
  std::uint64_t generation_ = 1;
};

}  // namespace rde::test
