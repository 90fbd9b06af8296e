// A client without manners: writes whatever the test wants into a ring, keeps no credits, checks nothing.
//
//   RawChannel raw(rig);
//   raw.send({.op = 255, .tag = 1});
//   CHECK(raw.next().status == …);
#pragma once

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <optional>

#include "attach/client.h"
#include "prim/socket.h"
#include "rig.h"
#include "ring/ring.h"

namespace rde::test {

inline Attachment attach_raw(const std::string& socket, AttachOptions options = {}) {
  options.socket = socket;
  auto attachment = attach(options);
  REQUIRE_MESSAGE(attachment, attachment.error().text);
  return std::move(*attachment);
}

class RawChannel {
 public:
  explicit RawChannel(const Rig& rig, AttachOptions options = {})
      : RawChannel(std::make_shared<Attachment>(attach_raw(rig.socket(), std::move(options)))) {}
  explicit RawChannel(std::shared_ptr<Attachment> attachment, std::uint32_t index = 0)
      : attachment_(std::move(attachment)),
        index_(index),
        requests_(view().requests(index), view().header().depth),
        completions_(view().completions(index), view().header().completion_depth) {}

  [[nodiscard]] const SegmentView& view() const { return attachment_->view; }
  [[nodiscard]] Attachment& attachment() { return *attachment_; }
  [[nodiscard]] rde_channel_lines* lines() const { return view().channel(index_); }
  [[nodiscard]] bool faulted() const { return load_acquire(&lines()->state) == RDE_CHANNEL_STATE_FAULTED; }
  [[nodiscard]] Status fault() const {
    return Status{static_cast<std::uint16_t>(load_acquire(&lines()->fault_status))};
  }

  void send(const rde_request& request) {
    requests_.write(request);
    wake();
  }
  void wake() {
    full_fence();
    fetch_or_seq_cst(&view().shard_doorbell(0)->bits[index_ / 64], std::uint64_t{1} << (index_ % 64));
    prim::ring_event(attachment_->doorbells[0].get());
  }
  std::optional<rde_completion> poll() {
    rde_completion completion;
    if (!completions_.read(completion)) return std::nullopt;
    return completion;
  }
  // A completion that does not come is one of status `internal`.
  rde_completion next() {
    const Nanoseconds end = now_ns() + kPatience;
    for (unsigned turn = 0; now_ns() < end; ++turn) {
      if (auto completion = poll()) return *completion;
      turn < 10'000 ? sched_yield() : usleep(100);
    }
    rde_completion none{};
    none.status = static_cast<std::uint16_t>(Status::internal);
    return none;
  }
  Status answer(const rde_request& request) {
    send(request);
    return Status{next().status};
  }
  // Nothing that was sent before is under way any more.
  bool serves() {
    rde_request nop = nop_request();
    nop.tag = 0xA11FE;
    send(nop);
    return next().tag == nop.tag;
  }

 private:
  std::shared_ptr<Attachment> attachment_;
  std::uint32_t index_;
  RingWriter<rde_request> requests_;
  RingReader<rde_completion> completions_;
};

}  // namespace rde::test
