// One job of a requester, cut into slices: which slice is next, what came back, what it adds up to.
// Knows nothing of links.
//
//   task.begin(job, memory, peer, {.slice = 1 << 20, .small_read = 64 << 10});
//   while (auto slice = task.next_slice()) request(*slice);
//   task.on_slice(slice.index, data, crc);      // in any order
//   if (task.has_ended()) task.write_answer();
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "object/object_source.h"
#include "peer/list.h"
#include "peer/protocol.h"

namespace rde {

class RemotePeer;
class Memory;

class ReadTask : public ListNode {
 public:
  struct Slice {
    std::uint32_t index = 0;
    std::uint64_t offset = 0;  // in the object
    std::span<std::byte> destination;
  };

  struct Sizes {
    std::uint32_t slice;       // bytes
    std::uint32_t small_read;  // a longer read is large
  };
  void begin(ObjectJob& job, Memory& memory, RemotePeer* peer, const Sizes& sizes);

  // Nothing where all is asked for, or too much is unfinished, or the task is failing.
  std::optional<Slice> next_slice();
  [[nodiscard]] bool can_issue() const;

  // The slice has landed. `crc` is of what landed; data.bytes of it are the slice's.
  void on_slice(std::uint32_t index, const wire::DataHeader& data, std::uint32_t crc);
  // The slice has ended without an answer, and its memory is safe.
  void on_lost() { --in_flight_; }
  // The first reason stays. What is in flight must still end.
  void fail(Status status);

  [[nodiscard]] bool is_failing() const { return failure_ != Status::ok || must_restart_; }
  // Nothing touches the destination any more. A task that has to start over does so here.
  bool has_ended();
  void write_answer();

  [[nodiscard]] ObjectJob& job() const { return *job_; }
  [[nodiscard]] Memory& memory() const { return *memory_; }
  [[nodiscard]] RemotePeer* peer() const { return peer_; }
  [[nodiscard]] bool is_large() const { return is_large_; }

  std::size_t place = 0;  // in the hub's list of active tasks

 private:
  static constexpr std::uint32_t kWindow = 8;  // slices from the first unfinished one to the last asked for
  struct Part {
    bool done = false;
    std::uint32_t bytes = 0;
    std::uint32_t crc = 0;
  };

  void start();
  void advance_front();
  [[nodiscard]] std::uint64_t wanted() const;  // bytes, as far as known
  [[nodiscard]] std::uint64_t slice_length(std::uint32_t index) const;

  ObjectJob* job_ = nullptr;
  Memory* memory_ = nullptr;
  RemotePeer* peer_ = nullptr;
  std::uint32_t slice_size_ = 0;
  bool is_large_ = false;
  bool has_restarted_ = false;

  bool must_restart_ = false;
  Status failure_ = Status::ok;
  std::uint32_t next_ = 0;   // slice to ask for
  std::uint32_t front_ = 0;  // first slice that is not finished
  std::uint32_t in_flight_ = 0;
  std::array<Part, kWindow> parts_{};
  bool facts_known_ = false;  // of the object, from the first answer that came
  std::uint64_t object_size_ = 0;
  std::uint32_t etag_ = 0;
  std::uint16_t flags_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t crc_ = 0;
};

}  // namespace rde
