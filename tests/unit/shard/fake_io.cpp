#include "fake_io.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

#include "prim/socket.h"

namespace rde::test {

FakeIo::FakeIo(IoCounts& counts) : counts_(counts) {
  for (auto* jobs : {&jobs_, &ready_, &ending_}) jobs->reserve(1'024);  // allocates nothing of its own in a test
  auto event = prim::make_event();
  if (event) news_ = std::move(*event);
}

FakeIo::~FakeIo() = default;

unsigned FakeIo::progress(Nanoseconds) {
  ++counts_.progressed;
  std::uint64_t rung = 0;
  if (at_news_ && read(news_.get(), &rung, sizeof rung) == sizeof rung) {
    finish(*at_news_, Status::ok);
    at_news_.reset();
  }
  ending_.swap(ready_);
  const auto done = static_cast<unsigned>(ending_.size());
  for (ObjectJob* job : ending_) job->on_done();
  ending_.clear();
  for (RegionJob* job : std::exchange(ready_regions_, {})) job->on_done();
  return done;
}

bool FakeIo::arm() {
  ++counts_.armed;
  return !refuse_arm && ready_.empty() && ready_regions_.empty();
}

Result<ArenaMemory> FakeIo::add_arena(std::span<std::byte> arena) {
  if (refuse_arenas) return Error{Status::registration_failed, "refused by the test"};
  ++counts_.arenas;
  return ArenaMemory{reinterpret_cast<Memory*>(arena.data())};
}

void FakeIo::remove_arena(std::span<std::byte> arena, ArenaMemory memory) {
  if (memory.transport == nullptr) return;
  CHECK(memory.transport == reinterpret_cast<Memory*>(arena.data()));
  --counts_.arenas;
}

std::optional<Handle> FakeIo::route(std::uint32_t) const { return served_by; }

Status FakeIo::check_peer(Handle peer) const { return peers_.contains(peer.value()) ? Status::ok : peer_status; }

void FakeIo::submit(Handle, ObjectJob& job, ArenaMemory) {
  ++counts_.submitted;
  if (!automatic) return jobs_.push_back(&job);
  std::ranges::fill(job.destination, fill_of(job.id.needle));
  make_ready(job, Status::ok, static_cast<std::uint32_t>(job.destination.size()), RDE_COMPLETION_FLAG_END);
}

void FakeIo::cancel(Handle, ObjectJob& job) {
  ++counts_.cancelled;
  if (obedient && std::erase(jobs_, &job) != 0) make_ready(job, Status::cancelled, 0, 0);
}

void FakeIo::submit(Handle, RegionJob& job, ArenaMemory) {
  ++counts_.submitted;
  region_jobs_.push_back(&job);
}

void FakeIo::cancel(Handle, RegionJob& job) {
  ++counts_.cancelled;
  if (obedient && std::ranges::find(region_jobs_, &job) != region_jobs_.end()) finish_region(job, Status::cancelled);
}

void FakeIo::finish_region(RegionJob& job, Status status, std::uint64_t value) {
  std::erase(region_jobs_, &job);
  job.status = status;
  job.value = value;
  ready_regions_.push_back(&job);
}

bool FakeIo::finish(std::uint64_t tag, Status status, std::uint32_t bytes, std::uint16_t flags) {
  const auto found =
      std::ranges::find_if(jobs_, [&](ObjectJob* job) { return static_cast<Operation*>(job)->request.tag == tag; });
  if (found == jobs_.end()) return false;
  ObjectJob& job = **found;
  jobs_.erase(found);
  make_ready(job, status, bytes, flags);
  return true;
}

void FakeIo::finish_all_but_one(Status status) {
  while (jobs_.size() > 1) {
    make_ready(*jobs_.back(), status, 0, 0);
    jobs_.pop_back();
  }
}

std::vector<std::uint64_t> FakeIo::finish_pieces(std::uint64_t object_size) {
  std::vector<std::uint64_t> needles;
  for (ObjectJob* job : jobs_) {
    needles.push_back(job->id.needle);
    make_ready(*job, Status::ok, static_cast<std::uint32_t>(job->destination.size()), 0);
    job->object_size = object_size;
  }
  jobs_.clear();
  return needles;
}

void FakeIo::finish_all(Status status) {
  for (ObjectJob* job : jobs_) make_ready(*job, status, 0, 0);
  jobs_.clear();
}

const Operation* FakeIo::job(std::uint64_t tag) const {
  for (ObjectJob* job : jobs_) {
    if (static_cast<Operation*>(job)->request.tag == tag) return static_cast<Operation*>(job);
  }
  return nullptr;
}

void FakeIo::make_ready(ObjectJob& job, Status status, std::uint32_t bytes, std::uint16_t flags) {
  job.status = status;
  job.bytes = bytes;
  job.flags = flags;
  job.crc = 0xC0FFEE;
  job.object_size = 1'000'000;
  ready_.push_back(&job);
}

Result<Handle> FakeIo::open_peer(const SocketAddress&, Opened opened) {
  if (opening == Opening::fails_at_once) return Error{Status::peer_not_allowed, "refused by the test"};
  if (opening == Opening::at_once) {
    open(opened, Status::ok);
  } else {
    opening_.push_back(std::move(opened));
    if (opening == Opening::fails_later) open_waiting(Status::peer_unreachable);
  }
  return Handle{next_peer_, 1};
}

void FakeIo::open_waiting(Status status) {
  while (!opening_.empty()) {
    const Opened opened = std::move(opening_.front());
    opening_.pop_front();
    open(opened, status);
  }
}

void FakeIo::open(const Opened& opened, Status status) {
  const Handle peer{next_peer_, 1};
  if (status == Status::ok) {
    ++peers_[peer.value()];
    ++counts_.peers;
  }
  opened(peer, status);
}

void FakeIo::close_peer(Handle peer) {
  const auto found = peers_.find(peer.value());
  CHECK(found != peers_.end());
  if (found == peers_.end()) return;
  --counts_.peers;
  if (--found->second == 0) peers_.erase(found);
}

}  // namespace rde::test
