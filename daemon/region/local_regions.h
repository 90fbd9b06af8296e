// Uses of regions by clients of the engine that exposed them: copies, a step of each job in turn. Owner thread only.
//
//   LocalRegions local(table);
//   local.submit(job);
//   local.progress(now);      // job.on_done() comes from here
#pragma once

#include <algorithm>
#include <deque>

#include "region/region_access.h"

namespace rde {

class LocalRegions {
 public:
  explicit LocalRegions(RegionTable& table) : table_(table) {}

  void submit(RegionJob& job) {
    job.is_cancelled = false;
    waiting_.push_back({.job = &job});
  }
  // Ends with status cancelled when its turn comes; what was copied stays.
  static void cancel(RegionJob& job) { job.is_cancelled = true; }
  [[nodiscard]] bool busy() const { return !waiting_.empty(); }

  // One step of one job; what was cancelled and stands before it ends first. Answers how much it did.
  unsigned progress(Nanoseconds now) {
    unsigned ended = 0;
    for (; ended < kEndsAtOnce && !waiting_.empty() && waiting_.front().job->is_cancelled; ++ended) take_turn(now);
    if (waiting_.empty()) return ended;
    take_turn(now);
    return ended + 1;
  }

 private:
  struct Entry {
    RegionJob* job = nullptr;
    std::size_t done = 0;  // bytes of a transfer
  };

  void take_turn(Nanoseconds now) {
    Entry entry = waiting_.front();
    waiting_.pop_front();
    if (step(entry, now)) {
      waiting_.push_back(entry);
    } else {
      entry.job->on_done();
    }
  }

  // True while there is more to do.
  bool step(Entry& entry, Nanoseconds now) {
    RegionJob& job = *entry.job;
    if (job.is_cancelled) {
      job.status = Status::cancelled;
      return false;
    }
    if (!job.is_transfer()) {
      regions::carry_out(table_, job, now);
      return false;
    }
    const std::size_t rest = job.buffer.size() - entry.done;
    const auto part = job.buffer.subspan(entry.done, std::min<std::size_t>(kRegionStep, rest));
    const regions::Place at{job.offset + entry.done, rest};
    job.status = job.kind == RegionJob::Kind::read ? regions::read(table_, job.token, at, part, now)
                                                   : regions::write(table_, job.token, at, part, now);
    entry.done += part.size();
    return job.status == Status::ok && entry.done < job.buffer.size();
  }

  RegionTable& table_;
  std::deque<Entry> waiting_;
};

}  // namespace rde
