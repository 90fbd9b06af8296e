// A shard's storage and peers, played by the test: jobs end when the test says so, late, or never.
//
//   rig.on_shard([](FakeIo& io) { io.finish(tag, Status::ok, 100); });
//
// Every call is on the shard's thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/descriptor.h"
#include "shard/operation.h"
#include "shard/shard_io.h"

namespace rde::test {

// Counts that outlive the shard.
struct IoCounts {
  std::atomic<int> arenas{0};
  std::atomic<int> peers{0};  // opened and not closed
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> cancelled{0};
  std::atomic<std::uint64_t> progressed{0};
  std::atomic<std::uint64_t> armed{0};
  std::atomic<bool> draining{false};
};

class FakeIo final : public ShardIo {
 public:
  explicit FakeIo(IoCounts& counts);
  ~FakeIo() override;

  // What the test decides.
  bool automatic = false;  // a job ends in the progress() after its submit, filled with fill_of() its needle
  bool obedient = true;    // a cancelled job ends in the next progress()
  bool always_busy = false;
  bool refuse_arm = false;
  bool refuse_arenas = false;
  std::optional<Handle> served_by = Handle{};  // route() of every volume
  Status peer_status = Status::invalid_handle;
  enum class Opening { later, at_once, fails_later, fails_at_once } opening = Opening::later;
  Nanoseconds timer = 0;
  Summary shown{"fake", "none", false, 3, 4};

  // Ends the job with this tag in the next progress(); false where there is none.
  bool finish(std::uint64_t tag, Status status, std::uint32_t bytes = 0, std::uint16_t flags = 0);
  void finish_all(Status status);
  void finish_all_but_one(Status status);
  // Each as a piece of an object of that size; what was asked for.
  std::vector<std::uint64_t> finish_pieces(std::uint64_t object_size);
  // Ends it in the progress() that finds news() rung, and not before.
  void finish_at_news(std::uint64_t tag) { at_news_ = tag; }
  void open_waiting(Status status);
  [[nodiscard]] std::size_t waiting() const { return jobs_.size(); }
  // Uses of regions of other engines, in the order in which they came; finish_region ends one in the next progress().
  [[nodiscard]] const std::vector<RegionJob*>& region_jobs() const { return region_jobs_; }
  void finish_region(RegionJob& job, Status status, std::uint64_t value = 0);
  [[nodiscard]] const Operation* job(std::uint64_t tag) const;
  [[nodiscard]] int news() const { return news_.get(); }

  // Bytes that an automatic read of this needle delivers.
  static std::byte fill_of(std::uint64_t needle) { return static_cast<std::byte>(needle * 31 + 1); }

  unsigned progress(Nanoseconds now) override;
  [[nodiscard]] bool busy() const override { return always_busy || !ready_.empty() || !ready_regions_.empty(); }
  [[nodiscard]] Nanoseconds next_timer() const override { return timer; }
  [[nodiscard]] std::vector<int> event_descriptors() const override { return {news_.get()}; }
  bool arm() override;
  Result<ArenaMemory> add_arena(std::span<std::byte> arena) override;
  void remove_arena(std::span<std::byte> arena, ArenaMemory memory) override;
  [[nodiscard]] std::optional<Handle> route(std::uint32_t volume) const override;
  [[nodiscard]] Status check_peer(Handle peer) const override;
  void submit(Handle peer, ObjectJob& job, ArenaMemory memory) override;
  void cancel(Handle peer, ObjectJob& job) override;
  [[nodiscard]] Status check_region_peer(Handle peer) const override { return check_peer(peer); }
  void submit(Handle peer, RegionJob& job, ArenaMemory memory) override;
  void cancel(Handle peer, RegionJob& job) override;
  Result<Handle> open_peer(const SocketAddress& where, Opened opened) override;
  void close_peer(Handle peer) override;
  void drain() override { counts_.draining = true; }
  [[nodiscard]] Summary summary() const override { return shown; }

 private:
  void make_ready(ObjectJob& job, Status status, std::uint32_t bytes, std::uint16_t flags);
  void open(const Opened& opened, Status status);

  IoCounts& counts_;
  Descriptor news_;
  std::optional<std::uint64_t> at_news_;
  std::vector<ObjectJob*> jobs_;   // submitted, not ended
  std::vector<ObjectJob*> ready_;  // on_done in the next progress()
  std::vector<ObjectJob*> ending_;
  std::vector<RegionJob*> region_jobs_;
  std::vector<RegionJob*> ready_regions_;
  std::deque<Opened> opening_;
  std::map<std::uint64_t, int> peers_;  // references by handle value
  std::uint32_t next_peer_ = 1;
};

}  // namespace rde::test
