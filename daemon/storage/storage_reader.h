// Reads objects from the volumes of this engine. One for each polling core, over one VolumeStore.
//
//   auto reader = rde::StorageReader::open(store);
//   (*reader)->submit(job);                     // job.on_done comes from progress()
//   while ((*reader)->busy()) (*reader)->progress();
//
// Bytes go from the file straight into job.destination, and not one of them before id, cookie and time to
// live of the record were found right. All functions are for the owner thread; counters() is for any.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "object/object_source.h"
#include "seaweed/needle.h"
#include "storage/counters.h"
#include "storage/flight.h"
#include "storage/read_queue.h"
#include "storage/volume_store.h"

namespace rde {

class StorageReader final : public ObjectSource {
 public:
  // Errors: system_error. Where io_uring is refused it warns and reads with threads.
  static Result<std::unique_ptr<StorageReader>> open(VolumeStore& store, const ReadQueueOptions& options = {});
  // Over a queue of the caller's, which writes to `event`.
  StorageReader(VolumeStore& store, std::unique_ptr<ReadQueue> queue, Descriptor event);
  // Cancels what is under way and waits for the kernel to let go of the buffers; calls on_done of those jobs.
  ~StorageReader() override;
  StorageReader(const StorageReader&) = delete;
  StorageReader& operator=(const StorageReader&) = delete;

  // A job past its deadline (0 = none) ends with deadline_exceeded, once no read of it is under way.
  void submit(ObjectJob& job) override;
  // A job that is not under way is ignored.
  void cancel(ObjectJob& job) override;

  // Does what can be done without waiting. Answers how many reads and jobs have ended: 0 = nothing to do now.
  unsigned progress();
  // Are there jobs, or needles to verify?
  [[nodiscard]] bool busy() const { return in_use_ != 0 || !ended_.empty(); }

  // Sleeping: arm(), then wait for event_descriptor() to be readable (level or edge), until next_timer() at most.
  // arm() is false when there is work already.
  [[nodiscard]] int event_descriptor() const { return event_.get(); }
  bool arm();
  // CLOCK_MONOTONIC; 0 = none.
  [[nodiscard]] Nanoseconds next_timer() const;

  // Memory that destinations lie in, for faster reads; optional. Remove it when no job reads into it.
  void add_memory(std::span<std::byte> memory) { queue_->add_memory(memory); }
  void remove_memory(std::span<std::byte> memory) { queue_->remove_memory(memory); }

  [[nodiscard]] const StorageCounters& counters() const { return counters_; }

 private:
  // storage_reader.cpp: flights and their order.
  Flight& take_flight();
  void release(Flight& flight);
  void fail(Flight& flight, Status status);  // ends it, at once or when its reads have ended
  void end(Flight& flight, Status status);
  void look_at_deadlines();
  void retry_parked();
  void start_ready();
  unsigned tell_ended();
  [[nodiscard]] bool has_room(unsigned reads) const { return in_flight_ + reads <= queue_->depth(); }
  // Places in the queue that stay free for others: bulk jobs yield to foreground jobs, and what streams lets a
  // small read in at once.
  [[nodiscard]] unsigned spare_at_start(unsigned bulk) const { return bulk != 0 ? queue_->depth() / 4 : 0; }
  [[nodiscard]] unsigned spare_in_stream(unsigned bulk) const { return queue_->depth() / (bulk != 0 ? 4 : 8); }

  // reads.cpp: what the queue does for a flight.
  void push(Flight& flight, unsigned slot);
  unsigned reap();
  void on_read(Flight& flight, unsigned slot, std::int32_t result);
  void on_idle(Flight& flight);  // no read of it is under way any more
  void issue_slices();
  unsigned issue(unsigned bulk, std::uint64_t budget);
  void issue_slice(Flight& flight);

  // lookup.cpp: from a job to a record.
  bool refresh_volumes();
  void start(Flight& flight);
  void park(Flight& flight, bool suspect);
  void on_missing(Flight& flight);
  void on_mismatch(Flight& flight);

  // record.cpp: the record itself.
  void check_record(Flight& flight);
  void read_long_tail(Flight& flight, std::size_t size);
  void on_checked(Flight& flight);

  // answer.cpp: from a record to an answer.
  void on_known(Flight& flight);
  void stream(Flight& flight, std::uint64_t begin, std::uint64_t length, std::byte* to);
  void on_streamed(Flight& flight);
  void answer(Flight& flight, std::uint32_t bytes, std::uint32_t crc);
  void answer_stat(Flight& flight);

  // verify.cpp: needles that are read through for others.
  void ask_for_verification(Flight& flight);
  [[nodiscard]] Flight* verifier_of(const KnownNeedle& needle) const;
  void start_verifiers();
  void on_verified(Flight& verifier, Status status);
  void on_wrong_crc(Flight& flight);
  void remember_verified(Flight& flight);
  void warn(const Flight& flight, std::string_view text);

  VolumeStore& store_;
  Descriptor event_;
  std::unique_ptr<ReadQueue> queue_;
  StorageCounters counters_;

  std::shared_ptr<const VolumeSet> volumes_;
  std::uint64_t version_ = 0;  // of volumes_

  std::vector<std::unique_ptr<Flight>> flights_;  // by index
  std::vector<Flight*> free_;
  std::size_t in_use_ = 0;
  std::vector<ObjectJob*> ended_;  // to be told
  std::vector<ObjectJob*> telling_;
  std::array<FlightList, 2> ready_;    // foreground, bulk
  std::array<FlightList, 2> streams_;  // that may issue a slice now
  FlightList parked_;
  FlightList unverified_;  // verifiers that wait for scratch memory
  std::vector<Flight*> verifiers_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<std::byte*> free_scratch_;
  std::uint32_t in_flight_ = 0;  // reads between push and reap
  std::uint64_t may_issue_ = 0;  // bytes of slices that this progress() may still start
  Nanoseconds sweep_at_ = 0;     // next look at deadlines
  Nanoseconds warn_at_ = 0;      // next warning at the earliest
};

}  // namespace rde
