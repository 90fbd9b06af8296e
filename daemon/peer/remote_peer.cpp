// The requests on a connection; remote_peer_link.cpp has the connection.
#include "peer/remote_peer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rde {
namespace {

// A slice that lands holds up the link as much as so many messages do.
constexpr std::uint32_t kCostOfLanding = 8;

std::uint32_t cost_of(const PeerTask::Slice& slice) { return slice.destination.empty() ? 1 : kCostOfLanding; }

}  // namespace

void RemotePeer::make_room(std::uint32_t credits) {
  const std::uint32_t count = std::min(credits, host_.options().requests_in_flight);
  free_slots_.clear();
  // Generations go on: an id of an earlier link must not look like one of this.
  if (requests_.size() < count) requests_.resize(count);
  for (std::uint32_t slot = count; slot-- != 0;) free_slots_.push_back(slot);
  used_ = used_large_ = large_cost_ = 0;
}

// Large requests have room that small ones cannot take, and the other way round.
bool RemotePeer::has_small_room() const {
  const auto total = static_cast<std::uint32_t>(free_slots_.size()) + used_;
  const std::uint32_t reserved = std::min(host_.options().slices_in_flight, total / 2);
  return !free_slots_.empty() && used_ - used_large_ < total - reserved;
}

bool RemotePeer::has_large_room() const {
  const auto total = static_cast<std::uint32_t>(free_slots_.size()) + used_;
  const std::uint32_t half = std::max(1U, total / 2);
  const std::uint32_t room = std::min(host_.options().slices_in_flight, half) * kCostOfLanding;
  return !free_slots_.empty() && used_large_ < half && large_cost_ < room;
}

void RemotePeer::submit(PeerTask& task) {
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
    PeerTask* task = queue_.pick(has_small_room(), has_large_room());
    if (task == nullptr) break;
    if (const auto slice = task->next_slice()) issue(*task, *slice);
    settle(*task);
  }
  is_pumping_ = false;
}

void RemotePeer::issue(PeerTask& task, const PeerTask::Slice& slice) {
  const std::uint32_t slot = free_slots_.back();
  Request& request = requests_[slot];
  PeerTask::Envelope envelope{.id = Handle{slot, ++request.generation}.value()};
  if (!slice.destination.empty()) {
    const auto landing = link_->post_landing(envelope.id, slice.destination, task.memory());
    if (!landing) {
      task.on_lost();
      return task.fail(landing.error().status);
    }
    envelope.landing = *landing;
  }
  free_slots_.pop_back();
  request.state = Request::State::flying;
  request.is_large = task.is_large();
  request.is_cancelled = request.is_credited = false;
  request.awaits_message = slice.destination.empty();
  request.task = &task;
  request.slice = slice;
  ++used_;
  used_large_ += request.is_large ? 1 : 0;
  large_cost_ += request.is_large ? cost_of(slice) : 0;

  const Nanoseconds deadline = task.job().deadline;
  const Nanoseconds left = deadline > host_.now() ? (deadline - host_.now()) / kMillisecond : 0;
  if (deadline != 0) envelope.budget_ms = static_cast<std::uint32_t>(std::clamp<Nanoseconds>(left, 1, UINT32_MAX));
  std::array<std::byte, Link::kMaxMessage> room;
  send(task.encode(slice, envelope, room));
}

void RemotePeer::on_landed(Link& /*link*/, std::uint64_t id, std::span<const std::byte> header, std::uint32_t bytes,
                           Status status) {
  const auto slot = slot_of(id, Request::State::flying);
  if (!slot) return;
  heartbeat_.heard(host_.now());
  const Request request = requests_[*slot];
  PeerTask& task = *request.task;
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
  task.on_slice(request.slice, *data);
  settle(task);
  pump();
}

// After anything happened to a task: end it, or queue it for its next slice.
void RemotePeer::settle(PeerTask& task) {
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

void RemotePeer::abandon(PeerTask& task, Status status) {
  task.fail(status);
  settle(task);
  pump();
}

// What has not begun to land is taken back now; the peer gives the credit back with CREDIT. What may still land ends
// by on_landed.
void RemotePeer::withdraw_requests(PeerTask& task) {
  for (std::uint32_t slot = 0; slot < requests_.size(); ++slot) {
    Request& request = requests_[slot];
    if (request.state != Request::State::flying || request.task != &task) continue;
    if (request.awaits_message) {  // nothing of the task's is touched for it any more
      lose_request(request);
      continue;
    }
    if (link_ == nullptr || request.is_cancelled) continue;
    const std::uint64_t id = Handle{slot, request.generation}.value();
    const bool is_withdrawn = link_->withdraw_landing(id);
    request.is_cancelled = true;
    send(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCancel), id});
    if (is_withdrawn) lose_request(request);
  }
}

void RemotePeer::lose_request(Request& request) {
  request.state = Request::State::withdrawn;
  std::exchange(request.task, nullptr)->on_lost();
}

Result<void> RemotePeer::take_region_done(std::span<const std::byte> message) {
  const auto done = wire::parse_region_done(message);
  if (!done) return done.error();
  const Error unasked{Status::protocol_error, "done.id " + std::to_string(done->id) + " waits for no message"};
  if (const auto flying = slot_of(done->id, Request::State::flying)) {
    if (!requests_[*flying].awaits_message) return unasked;
    PeerTask& task = *requests_[*flying].task;
    free_slot(*flying);
    task.on_answer(*done);
    settle(task);
  } else {
    const auto withdrawn = slot_of(done->id, Request::State::withdrawn);
    if (!withdrawn || !requests_[*withdrawn].awaits_message) return unasked;
    free_slot(*withdrawn);
  }
  pump();
  return {};
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
  if (!slot || requests_[*slot].awaits_message)
    return Error{Status::protocol_error, "credit.id " + std::to_string(credit->id) + " was not cancelled"};
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
  large_cost_ -= request.is_large ? cost_of(request.slice) : 0;
  free_slots_.push_back(slot);
}

void RemotePeer::fail_queued(Status status) {
  queue_.for_each([&](PeerTask& task) {
    task.fail(status);
    settle(task);
  });
}

}  // namespace rde
