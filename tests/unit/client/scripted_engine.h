// The engine's side of a segment that lies in plain memory: a test takes requests and writes completions by hand.
//
//   ScriptedEngine engine({.depth = 8});
//   Channel channel(engine.view(), 0, engine.event());
//   channel.submit(request);
//   engine.complete(engine.take().tag);
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "prim/socket.h"
#include "ring/doorbell.h"
#include "ring/ring.h"
#include "segment/plan.h"
#include "segment/view.h"

namespace rde::test {

class ScriptedEngine {
 public:
  explicit ScriptedEngine(SegmentRequest request = {}) {
    request.total_size = std::max<std::uint64_t>(request.total_size, RDE_MIN_SEGMENT);
    auto header = plan_segment(request);
    REQUIRE_MESSAGE(header, header.error().text);
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, header->total_size)));
    std::fill_n(memory_.get(), header->arena_offset, std::byte{0});
    view_ = SegmentView({memory_.get(), header->total_size}, *header);
    for (std::uint32_t i = 0; i < header->channel_count; ++i) {
      requests_.emplace_back(view_.requests(i), header->depth);
      completions_.emplace_back(view_.completions(i), header->completion_depth);
      view_.channel(i)->state = RDE_CHANNEL_STATE_OPEN;
    }
    auto event = prim::make_event();
    auto wake = prim::make_wake_pair();
    REQUIRE(event);
    REQUIRE(wake);
    event_ = std::move(*event);
    wake_ = std::move(*wake);
    ringer_ = std::make_unique<Ringer>(view_.client_doorbell());
  }

  [[nodiscard]] const SegmentView& view() const { return view_; }
  [[nodiscard]] int event() const { return event_.get(); }
  // The client's end of the wake socket.
  [[nodiscard]] int wake() const { return wake_.sleeper.get(); }
  void close_wake() { wake_.ringer.reset(); }
  void send_bare_wake() { prim::send_wake(wake_.ringer.get()); }

  bool take(rde_request& request, std::uint32_t channel = 0) { return requests_[channel].read(request); }
  // The next request; there is one.
  rde_request take(std::uint32_t channel = 0) {
    rde_request request{};
    CHECK(take(request, channel));
    return request;
  }
  // Writes a completion, and wakes the client where it sleeps.
  void complete(const rde_completion& completion, std::uint32_t channel = 0) {
    completions_[channel].write(completion);
    full_fence();
    if (load_relaxed(&view_.channel(channel)->completion_cold) != 0 && ringer_->ring(channel)) {
      ++wakes;
      prim::send_wake(wake_.ringer.get());
    }
  }
  void complete(std::uint64_t tag, std::uint32_t channel = 0) { complete(rde_completion{.tag = tag}, channel); }

  std::uint64_t wakes = 0;

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  SegmentView view_;
  std::vector<RingReader<rde_request>> requests_;
  std::vector<RingWriter<rde_completion>> completions_;
  std::unique_ptr<Ringer> ringer_;
  Descriptor event_;
  prim::WakePair wake_;
};

}  // namespace rde::test
