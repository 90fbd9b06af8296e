// How requests end: at once, later, or in two steps.
#include "shard/shard.h"

namespace rde {

void Operation::on_done() {
  if (status == Status::ok && kind == Kind::read && state == State::in_flight &&
      (request.flags & RDE_REQUEST_FLAG_IN_SESSION) != 0) {
    shard->sessions_st().delivered(Handle::from(request.handle), bytes, crc, !skip_crc);
  }
  // `has_job` first: end_st gives the operation back.
  has_job = false;
  shard->end_st(*this, status, flags, bytes, crc, object_size);
}

void Shard::note_failure(EngineChannel& channel, std::uint64_t tag, Status status) {
  ClientState& client = channel.client();
  ++client.counts.failures;
  bump(stats_.failures);
  client.recorder().note(now_, RDE_EVENT_COMPLETION, channel.index(), tag, static_cast<std::uint64_t>(status));
}

Operation* Shard::begin_st(EngineChannel& channel, const rde_request& request) {
  ClientState& client = channel.client();
  now_ = now_ns();  // the turn's is old where this process stood still
  const Nanoseconds due = request.deadline_ns != 0 ? request.deadline_ns : now_ + options_.default_deadline;
  if (due <= now_) {
    complete_st(channel, request.tag, Status::deadline_exceeded);
    return nullptr;
  }
  Operation* operation = operations_.take(client.operations);
  if (operation == nullptr) {
    complete_st(channel, request.tag, Status::resource_exhausted);
    return nullptr;
  }
  operation->shard = this;
  operation->channel = &channel;
  operation->request = request;
  operation->peer = {};
  operation->state = Operation::State::in_flight;
  operation->has_job = operation->is_region = false;
  operation->cancel_asked = false;
  operation->deadline = due;
  operation->status = Status::ok;
  operation->flags = 0;
  operation->bytes = 0;
  operation->crc = 0;
  operation->object_size = 0;
  channel.tags().insert(request.tag, operation);
  ++channel.in_flight;
  ++client.operations;
  client.recorder().note(now_, RDE_EVENT_REQUEST, channel.index(), request.tag, request.op);
  deadlines_.add(operation->timer, due);
  return operation;
}

void Shard::end_st(Operation& operation, Status status, std::uint16_t flags, std::uint32_t bytes, std::uint32_t crc,
                   std::uint64_t value) {
  EngineChannel& channel = *operation.channel;
  ClientState& client = channel.client();
  deadlines_.remove(operation.timer);
  if (operation.state == Operation::State::quarantined) {
    --channel.quarantined;
    client.quarantined_bytes -= operation.request.length;
    drop(stats_.quarantined);
    drop(stats_.quarantined_bytes, operation.request.length);
    complete_st(channel, operation.request.tag, status, RDE_COMPLETION_FLAG_BUFFER_FREE);
  } else {
    --channel.in_flight;
    client.counts.bytes += bytes;
    if (!operation.is_region) bump(stats_.bytes_read, bytes);
    complete_st(channel, operation.request.tag, status, flags, bytes, crc, value);
  }
  --client.operations;
  channel.tags().erase(operation.request.tag);
  operations_.give_back(&operation);
}

void Shard::answer_early_st(Operation& operation, Status status) {
  if (operation.state != Operation::State::in_flight) return;
  EngineChannel& channel = *operation.channel;
  deadlines_.remove(operation.timer);
  --channel.in_flight;
  ++channel.quarantined;
  channel.client().quarantined_bytes += operation.request.length;
  bump(stats_.quarantined);
  bump(stats_.quarantined_bytes, operation.request.length);
  operation.state = Operation::State::quarantined;
  complete_st(channel, operation.request.tag, status, RDE_COMPLETION_FLAG_MORE);
  if (operation.has_job && !operation.cancel_asked) {
    operation.cancel_asked = true;
    cancel_job(operation);
  }
}

void Shard::resolve_st(std::uint64_t asker, const HostPort& where,
                       std::function<void(const Result<SocketAddress>&)> answer) {
  if (is_numeric(where.host)) return answer(resolve(where));
  // The queue, not the shard: a slow name server can answer after the shard has gone.
  resolver_.resolve(asker, where, [queue = queue_, answer = std::move(answer)](Result<SocketAddress> found) {
    queue->post([answer, found = std::move(found)](Shard&) { answer(found); });
  });
}

void Shard::fault_st(EngineChannel& channel, Status status) {
  if (channel.faulted) return;
  channel.faulted = true;
  bump(stats_.violations);
  ++channel.client().counts.violations;
  channel.client().recorder().note(now_, RDE_EVENT_FAULT, channel.index(), static_cast<std::uint64_t>(status),
                                   channel.taken());
  store_relaxed(&channel.lines()->fault_status, static_cast<std::uint32_t>(status));
  store_release(&channel.lines()->state, std::uint32_t{RDE_CHANNEL_STATE_FAULTED});
}

}  // namespace rde
