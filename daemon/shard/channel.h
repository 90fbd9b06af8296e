// The engine's side of a channel: cursors, counts and operations that live in private memory alone. Owner: the shard's
// thread.
//
//   rde_request request;
//   while (channel.take(request)) channel.post(request.tag, 0, 0, 0, 0, 0);
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "ring/ring.h"
#include "segment/view.h"
#include "shard/tag_table.h"

namespace rde {

class ClientState;

class EngineChannel {
 public:
  EngineChannel(ClientState& client, const SegmentView& view, std::uint32_t index)
      : client_(&client),
        lines_(view.channel(index)),
        requests_(view.requests(index), view.header().depth),
        completions_(view.completions(index), view.header().completion_depth),
        depth_(view.header().depth),
        index_(index) {}

  [[nodiscard]] ClientState& client() const { return *client_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] rde_channel_lines* lines() const { return lines_; }

  bool take(rde_request& request) { return requests_.read(request); }
  [[nodiscard]] bool has_request() const { return requests_.ready(); }
  void prefetch() const { requests_.prefetch(); }

  // Writes a completion; the shard's flush publishes cursors and wakes the client.
  void post(std::uint64_t tag, std::uint16_t status, std::uint16_t flags, std::uint32_t bytes, std::uint32_t crc,
            std::uint64_t value) {
    completions_.write(
        {.lap = 0, .status = status, .flags = flags, .tag = tag, .bytes = bytes, .crc = crc, .value = value});
  }
  // For a second completion in one turn and those behind it: brings the slots that follow near.
  void prepare() const { completions_.prepare(); }
  // Answers how many completions were written since the last time.
  std::uint64_t publish_cursors() {
    store_relaxed(&lines_->requests_taken, requests_.position());
    store_relaxed(&lines_->completions_posted, completions_.position());
    store_relaxed(&lines_->in_flight, std::uint64_t{in_flight});
    store_relaxed(&lines_->quarantined, std::uint64_t{quarantined});
    return completions_.position() - std::exchange(published_, completions_.position());
  }
  [[nodiscard]] std::uint64_t taken() const { return requests_.position(); }

  // Operations by tag; made when the first one does not end at once, so that idle channels stay small.
  TagTable& tags() {
    if (!tags_) tags_ = std::make_unique<TagTable>(depth_ * (RDE_COMPLETIONS_PER_REQUEST + 1), tag_seed());
    return *tags_;
  }
  Operation* find(std::uint64_t tag) { return in_flight + quarantined != 0 ? tags_->find(tag) : nullptr; }
  template <class Visit>
  void for_each_operation(Visit visit) {
    if (tags_) tags_->for_each(visit);
  }

  std::uint32_t in_flight = 0;    // first completion not written
  std::uint32_t quarantined = 0;  // first written with MORE, second not
  std::uint32_t empty_polls = 0;
  bool faulted = false;
  bool hot = false;    // in its client's list of channels that are polled
  bool dirty = false;  // in the shard's list for flush

 private:
  ClientState* client_;
  rde_channel_lines* lines_;
  RingReader<rde_request> requests_;
  RingWriter<rde_completion> completions_;
  std::unique_ptr<TagTable> tags_;
  std::uint64_t published_ = 0;
  std::uint32_t depth_;
  std::uint32_t index_;
};

}  // namespace rde
