// What a shard keeps of an attached client, all in private memory. Owner: the shard's thread.
//
//   ClientState client(std::move(given));
//   for (EngineChannel& channel : client.channels()) …
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "region/opened_regions.h"
#include "ring/doorbell.h"
#include "segment/segment.h"
#include "session/session_table.h"
#include "shard/channel.h"
#include "shard/recorder.h"
#include "shard/timer_wheel.h"
#include "transport/transport.h"

namespace rde {

class ClientState;

// A region of a client, until nobody can use it any more.
struct ExposedRegion : Timer {
  ClientState* client = nullptr;
  Handle handle;
};

// What the control thread hands over when a client is attached.
struct NewClient {
  std::uint64_t number = 0;
  std::uint32_t uid = 0;
  std::shared_ptr<Segment> segment;
  Descriptor wake;                       // the ringer's end of the client's wake socket
  std::shared_ptr<Descriptor> doorbell;  // eventfd that the client rings
};

class ClientState {
 public:
  explicit ClientState(NewClient given)
      : number_(given.number),
        uid_(given.uid),
        segment_(std::move(given.segment)),
        wake_(std::move(given.wake)),
        doorbell_(std::move(given.doorbell)),
        recorder_(segment_->view()),
        ringer_(segment_->view().client_doorbell()),
        sleeper_(segment_->view().shard_doorbell(0), segment_->view().header().channel_count) {
    for (std::uint32_t i = 0; i < view().header().channel_count; ++i) channels_.emplace_back(*this, view(), i);
  }
  ClientState(const ClientState&) = delete;
  ClientState& operator=(const ClientState&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint32_t uid() const { return uid_; }
  [[nodiscard]] const SegmentView& view() const { return segment_->view(); }
  [[nodiscard]] int wake_descriptor() const { return wake_.get(); }
  [[nodiscard]] int doorbell_descriptor() const { return doorbell_->get(); }
  std::deque<EngineChannel>& channels() { return channels_; }
  Ringer& ringer() { return ringer_; }
  Sleeper& sleeper() { return sleeper_; }
  Recorder& recorder() { return recorder_; }

  // Channels that are polled, in any order; `next` is the one whose turn it is.
  std::vector<EngineChannel*> hot;
  std::size_t next = 0;
  bool listed = false;      // in the shard's list of clients with a hot channel
  std::int32_t budget = 0;  // what is left of this turn, in requests
  // A request that costs as much as `requests` others has to be paid for, so that the other clients do not pay.
  void charge(std::uint32_t requests) { budget -= static_cast<std::int32_t>(requests); }

  Memory* transport_memory = nullptr;  // the arena, registered; null without a transport
  bool gone = false;                   // detached; lives on until its operations have ended
  std::uint32_t operations = 0;        // in flight or quarantined, on all channels
  std::uint64_t quarantined_bytes = 0;
  // Peers that this client opened, by handle value, and how often.
  std::unordered_map<std::uint64_t, std::uint32_t> peers;
  SessionOwner sessions;
  std::unordered_map<std::uint64_t, ExposedRegion> exposed;  // by handle value
  OpenedRegions opened;
  std::uint32_t lookups = 0;  // names being looked up

  // For the segment's counters.
  struct Counts {
    std::uint64_t requests = 0;
    std::uint64_t completions = 0;
    std::uint64_t failures = 0;
    std::uint64_t bytes = 0;
    std::uint64_t violations = 0;
    std::uint64_t wakeups = 0;
  } counts;

 private:
  std::uint64_t number_;
  std::uint32_t uid_;
  std::shared_ptr<Segment> segment_;
  Descriptor wake_;
  std::shared_ptr<Descriptor> doorbell_;
  Recorder recorder_;
  Ringer ringer_;
  Sleeper sleeper_;
  std::deque<EngineChannel> channels_;
};

}  // namespace rde
