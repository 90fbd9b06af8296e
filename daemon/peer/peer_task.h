// A job of a requester on its way through one peer, cut into slices: what is asked for next, what came back, when it is
// over. Knows nothing of links.
//
//   while (auto slice = task.next_slice()) send(task.encode(*slice, envelope, room));
//   task.on_slice(slice, data);      // in any order; or on_answer() for a slice without a landing
//   if (task.has_ended()) task.write_answer(counters);
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "object/job.h"
#include "peer/list.h"
#include "peer/protocol.h"
#include "peer/region_protocol.h"

namespace rde {

class Memory;
class RemotePeer;
struct PeerCounters;
struct TaskPools;

struct SliceSizes {
  std::uint32_t slice;       // bytes
  std::uint32_t small_read;  // a longer transfer is large
};

class PeerTask : public ListNode {
 public:
  struct Slice {
    std::uint32_t index = 0;
    std::uint64_t offset = 0;  // in the object or the region
    std::uint32_t length = 0;
    std::span<std::byte> destination;  // where it lands; empty: it is answered by a message
  };
  // What a request to the peer says besides.
  struct Envelope {
    std::uint64_t id = 0;
    LandingKey landing;
    std::uint32_t budget_ms = 0;
  };

  virtual ~PeerTask() = default;

  // Nothing where all is asked for, or too much is unfinished, or the task is failing.
  virtual std::optional<Slice> next_slice() = 0;
  [[nodiscard]] virtual bool can_issue() const = 0;
  // The request, in `room`, which has Link::kMaxMessage bytes.
  virtual std::span<const std::byte> encode(const Slice& slice, const Envelope& envelope,
                                            std::span<std::byte> room) const = 0;

  // The slice has landed; data.bytes of its destination are its own.
  virtual void on_slice(const Slice& slice, const wire::DataHeader& data) = 0;
  // The slice, which had no landing, is answered.
  virtual void on_answer(const wire::RegionDoneMessage& done) = 0;
  // The slice has ended without an answer, and its memory is safe.
  void on_lost() { --in_flight_; }
  // The first reason stays. What is in flight must still end.
  void fail(Status status) {
    if (failure_ == Status::ok) failure_ = status;
  }

  [[nodiscard]] virtual bool is_failing() const { return failure_ != Status::ok; }
  // Nothing touches the job's memory any more. A task that has to start over does so here.
  virtual bool has_ended() = 0;
  virtual void write_answer(PeerCounters& counters) = 0;
  virtual void give_back(TaskPools& pools) = 0;

  [[nodiscard]] virtual Job& job() const = 0;
  [[nodiscard]] Memory& memory() const { return *memory_; }
  [[nodiscard]] RemotePeer* peer() const { return peer_; }
  [[nodiscard]] bool is_large() const { return is_large_; }

  std::size_t place = 0;  // in the hub's list of active tasks

 protected:
  void begin(Memory& memory, RemotePeer* peer, bool is_large) {
    memory_ = &memory;
    peer_ = peer;
    is_large_ = is_large;
    failure_ = Status::ok;
    in_flight_ = 0;
  }

  Status failure_ = Status::ok;
  std::uint32_t in_flight_ = 0;

 private:
  Memory* memory_ = nullptr;
  RemotePeer* peer_ = nullptr;
  bool is_large_ = false;
};

}  // namespace rde
