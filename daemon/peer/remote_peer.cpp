// The requests on a connection; remote_peer_link.cpp has the connection.
#include "peer/remote_peer.h"

#include <algorithm>

#include "base/crc32c.h"

namespace rde {

void RemotePeer::make_room(std::uint32_t credits) {
  const std::uint32_t count = std::min(credits, host_.options().requests_in_flight);
  free_slots_.clear();
  // Generations go on: an id of an earlier link must not look like one of this.
  if (requests_.size() < count) requests_.resize(count);
  for (std::uint32_t slot = count; slot-- != 0;) free_slots_.push_back(slot);
  used_ = used_large_ = 0;
}

// Large requests have room that small ones cannot take, and the other way round.
bool RemotePeer::has_small_room() const {
  const auto total = static_cast<std::uint32_t>(free_slots_.size()) + used_;
  const std::uint32_t reserved = std::min(host_.options().slices_in_flight, total / 2);
  return !free_slots_.empty() && used_ - used_large_ < total - reserved;
}

bool RemotePeer::has_large_room() const {
  const auto total = static_cast<std::uint32_t>(free_slots_.size()) + used_;
  const std::uint32_t room = std::max(1U, std::min(host_.options().slices_in_flight, total / 2));
  return !free_slots_.empty() && used_large_ < room;
}

void RemotePeer::submit(ReadTask& task) {
  if (queue_.size() >= host_.options().queued_jobs) {
    task.fail(Status::peer_busy);
    return host_.finish(task);
  }
  queue_.add(task);
  pump();
}

void RemotePeer::pump() {
  if (is_pumping_ || state_ != State::ready) return;
  is_pumping_ = true;
  while (state_ == State::ready) {
    ReadTask* task = queue_.pick(has_small_room(), has_large_room());
    if (task == nullptr) break;
    if (const auto slice = task->next_slice()) issue(*task, *slice);
    settle(*task);
  }
  is_pumping_ = false;
}

void RemotePeer::issue(ReadTask& task, const ReadTask::Slice& slice) {
  const std::uint32_t slot = free_slots_.back();
  Request& request = requests_[slot];
  const std::uint64_t id = Handle{slot, ++request.generation}.value();
  const auto landing = link_->post_landing(id, slice.destination, task.memory());
  if (!landing) {
    task.on_lost();
    return task.fail(landing.error().status);
  }
  free_slots_.pop_back();
  request.state = Request::State::flying;
  request.is_large = task.is_large();
  request.is_cancelled = request.is_credited = false;
  request.task = &task;
  request.slice = slice;
  ++used_;
  used_large_ += request.is_large ? 1 : 0;

  const ObjectJob& job = task.job();
  const Nanoseconds now = host_.now();
  const Nanoseconds left = job.deadline > now ? (job.deadline - now) / kMillisecond : 0;
  wire::RequestMessage message{
      .head = wire::head_of<wire::RequestMessage>(job.kind == ObjectJob::Kind::read ? wire::kRead : wire::kStat),
      .id = id,
      .needle = job.id.needle,
      .offset = job.kind == ObjectJob::Kind::read ? slice.offset : 0,
      .volume = job.id.volume,
      .cookie = job.id.cookie,
      .length = landing->length,
      .flags = static_cast<std::uint16_t>((job.skip_crc ? wire::kSkipCrc : 0) | (job.bulk ? wire::kBulk : 0)),
      .reserved = 0,
      .budget_ms = job.deadline == 0 ? 0 : static_cast<std::uint32_t>(std::clamp<Nanoseconds>(left, 1, UINT32_MAX)),
      .landing_key = landing->key,
      .landing_address = landing->address};
  send(message);
}

void RemotePeer::on_landed(Link& /*link*/, std::uint64_t id, std::span<const std::byte> header, std::uint32_t bytes,
                           Status status) {
  const auto slot = slot_of(id, Request::State::flying);
  if (!slot) return;
  heartbeat_.heard(host_.now());
  const Request request = requests_[*slot];
  ReadTask& task = *request.task;
  end_flight(*slot);
  if (status != Status::ok) {
    task.on_lost();
    task.fail(status);
    settle(task);
    return;
  }
  const auto data = wire::parse_data(header);
  if (!data || data->id != id || data->bytes != bytes) {
    task.on_lost();
    task.fail(Status::protocol_error);
    settle(task);
    return fail_link(!data ? data.error()
                           : Error{Status::protocol_error, "data.bytes or data.id does not fit its delivery"});
  }
  const auto landed = std::span<const std::byte>(request.slice.destination).first(bytes);
  task.on_slice(request.slice.index, *data, task.job().skip_crc ? 0 : crc32c(landed));
  settle(task);
  pump();
}

// After anything happened to a task: end it, or queue it for its next slice.
void RemotePeer::settle(ReadTask& task) {
  if (task.is_failing()) {
    if (task.is_listed()) queue_.remove(task);
    withdraw_requests(task);
  }
  if (task.has_ended()) {
    if (task.is_listed()) queue_.remove(task);
    return host_.finish(task);
  }
  if (!task.is_listed() && task.can_issue()) queue_.add(task);
}

void RemotePeer::abandon(ReadTask& task, Status status) {
  task.fail(status);
  settle(task);
  pump();
}

// What has not begun to land is taken back now; the peer gives the credit back with CREDIT. What may still land ends
// by on_landed.
void RemotePeer::withdraw_requests(ReadTask& task) {
  for (std::uint32_t slot = 0; slot < requests_.size(); ++slot) {
    Request& request = requests_[slot];
    if (request.state != Request::State::flying || request.task != &task) continue;
    if (link_ == nullptr || request.is_cancelled) continue;
    const std::uint64_t id = Handle{slot, request.generation}.value();
    const bool is_withdrawn = link_->withdraw_landing(id);
    request.is_cancelled = true;
    send(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCancel), id});
    if (!is_withdrawn) continue;
    request.state = Request::State::withdrawn;
    request.task = nullptr;
    task.on_lost();
  }
}

Result<void> RemotePeer::take_credit(std::span<const std::byte> message) {
  const auto credit = wire::parse_id(message);
  if (!credit) return credit.error();
  if (const auto flying = slot_of(credit->id, Request::State::flying)) {
    Request& request = requests_[*flying];
    if (request.is_cancelled && !request.is_credited) {
      request.is_credited = true;
      return {};
    }
  }
  const auto slot = slot_of(credit->id, Request::State::withdrawn);
  if (!slot) return Error{Status::protocol_error, "credit.id " + std::to_string(credit->id) + " was not cancelled"};
  free_slot(*slot);
  pump();
  return {};
}

std::optional<std::uint32_t> RemotePeer::slot_of(std::uint64_t id, Request::State state) const {
  const Handle handle = Handle::from(id);
  if (handle.index >= requests_.size()) return std::nullopt;
  const Request& request = requests_[handle.index];
  if (request.generation != handle.generation || request.state != state) return std::nullopt;
  return handle.index;
}

// The landing has ended; a CREDIT that is still owed keeps the slot.
void RemotePeer::end_flight(std::uint32_t slot) {
  Request& request = requests_[slot];
  if (!request.is_cancelled || request.is_credited) return free_slot(slot);
  request.state = Request::State::withdrawn;
  request.task = nullptr;
}

void RemotePeer::free_slot(std::uint32_t slot) {
  Request& request = requests_[slot];
  request.state = Request::State::free;
  request.task = nullptr;
  --used_;
  used_large_ -= request.is_large ? 1 : 0;
  free_slots_.push_back(slot);
}

void RemotePeer::fail_queued(Status status) {
  queue_.for_each([&](ReadTask& task) {
    task.fail(status);
    settle(task);
  });
}

}  // namespace rde
