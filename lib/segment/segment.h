// The engine's side of a segment: made, filled, hardened, published, in this order (docs/architecture.md says why).
//
//   auto segment = Segment::create({.plan = …, .hugepages = HugepageMode::prefer});
//   send(segment->file());            // the client maps it and answers MAPPED
//   segment->harden();                // no hole, no new writable mapping; every page there
//   segment->publish();               // stores the ready word
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/status.h"
#include "segment/mapping.h"
#include "segment/plan.h"
#include "segment/view.h"

namespace rde {

enum class HugepageMode { require, prefer, off };

struct SegmentOptions {
  SegmentRequest plan;  // page_size is chosen by `hugepages`
  HugepageMode hugepages = HugepageMode::prefer;
  std::uint64_t epoch = 0;
  std::uint32_t engine_pid = 0;
  std::uint32_t client_pid = 0;
};

class Segment {
 public:
  static Result<std::unique_ptr<Segment>> create(const SegmentOptions& options);

  // Why ordinary pages serve although hugepages were preferred; empty otherwise.
  [[nodiscard]] const std::string& shortage() const { return shortage_; }
  [[nodiscard]] int file() const { return file_.get(); }
  [[nodiscard]] const SegmentView& view() const { return view_; }
  [[nodiscard]] std::span<std::byte> bytes() const { return mapping_.bytes(); }

  // After the client has mapped it: seals, allocates and faults in again, since the client could punch holes until now.
  Result<void> harden();
  // Stores the header's ready word; a client may use the segment from now on.
  void publish();

 private:
  Segment(Descriptor file, Mapping mapping, const rde_segment_header& header);
  [[nodiscard]] bool huge() const { return view_.header().page_size != 4096; }

  Descriptor file_;
  Mapping mapping_;
  SegmentView view_;
  std::string shortage_;
};

}  // namespace rde
