// The requests of a ServeSession: taken, read, delivered.
#include <algorithm>

#include "base/crc32c.h"
#include "peer/responder.h"
#include "rde_layout.h"

namespace rde {

Result<void> ServeSession::check_request(std::uint64_t id) const {
  const PeerOptions& options = responder_.host_.options();
  if (unanswered_ >= options.credits) {
    return Error{Status::protocol_error,
                 "request " + std::to_string(id) + " is over the " + std::to_string(options.credits) + " credits"};
  }
  // An answer may still be on its way out when its credit is used again, but not four times over.
  if (serves_.size() >= std::size_t{options.credits} * 4) {
    return Error{Status::peer_busy, "the peer asks on but does not take its answers"};
  }
  if (std::ranges::find(serves_, id, [](const Serve* serve) { return serve->request_id; }) != serves_.end())
    return Error{Status::protocol_error, "request.id " + std::to_string(id) + " is in use"};
  return {};
}

Serve& ServeSession::add_serve(std::uint64_t id, const LandingKey& landing, std::uint32_t budget_ms) {
  const Nanoseconds budget = budget_ms * kMillisecond;
  Serve& serve = responder_.serves_.take();
  serve.responder = &responder_;
  serve.session = this;
  serve.state = Serve::State::queued;
  serve.cancelled = false;
  serve.request_id = id;
  serve.length = landing.length;
  serve.landing = landing;
  serve.region.reset();
  serve.deadline = responder_.host_.now() + (budget == 0 ? responder_.host_.options().default_budget : budget);
  serve.status = Status::ok;
  serve.bytes = serve.crc = serve.etag = 0;
  serve.object_size = 0;
  serve.flags = 0;
  serve.place = serves_.size();
  serves_.push_back(&serve);
  ++unanswered_;
  return serve;
}

Result<void> ServeSession::take_request(std::span<const std::byte> message) {
  const auto request = wire::parse_request(message);
  if (!request) return request.error();
  if (auto checked = check_request(request->id); !checked) return checked;
  const LandingKey landing{request->landing_address, request->landing_key, request->length};
  Serve& serve = add_serve(request->id, landing, request->budget_ms);
  serve.kind = request->head.type == wire::kRead ? ObjectJob::Kind::read : ObjectJob::Kind::stat;
  serve.skip_crc = (request->flags & wire::kSkipCrc) != 0;
  serve.bulk = (request->flags & wire::kBulk) != 0;
  serve.id = {request->volume, request->needle, request->cookie};
  serve.offset = request->offset;
  begin(serve, responder_.source_ == nullptr ? Status::volume_not_found : Status::ok);
  return {};
}

void ServeSession::begin(Serve& serve, Status refusal) {
  if (responder_.draining_) {
    serve.status = Status::draining;
  } else if (refusal != Status::ok) {
    serve.status = refusal;
  } else if (serve.length > responder_.staging_->large_size()) {
    serve.status = Status::transfer_too_large;
  }
  if (serve.status != Status::ok) return deliver(serve);
  (responder_.staging_->is_large(serve.length) ? large_ : small_).push_back(serve);
  if (!is_listed()) responder_.waiting_.push_back(*this);
  responder_.pump();
}

bool ServeSession::start_some() {
  StagingBlocks& staging = *responder_.staging_;
  bool started = false;
  // A peer that does not take its answers must not hold all large blocks.
  const auto share = static_cast<std::uint32_t>(std::max<std::size_t>(2, staging.large_total() / 4));
  for (List<Serve>* queue : {&small_, &large_}) {
    Serve* serve = queue->front();
    if (serve == nullptr || (queue == &large_ && large_blocks_ >= share)) continue;
    serve->block = staging.take(serve->length);
    if (!serve->block) continue;
    queue->remove(*serve);
    large_blocks_ += serve->block->is_large ? 1 : 0;
    start(*serve);
    started = true;
  }
  return started;
}

void ServeSession::start(Serve& serve) {
  serve.state = Serve::State::reading;
  serve.destination = {serve.block->data, serve.length};
  if (serve.region) return copy_region(serve);
  responder_.source_->submit(serve);
}

void Serve::on_done() {
  if (session != nullptr) return session->answer(*this);
  responder->release(*this);
  responder->pump();
}

void ServeSession::answer(Serve& serve) {
  if (serve.cancelled) {
    // Nobody waits for the bytes any more.
    --unanswered_;
    give_credit(serve.request_id);
    release(serve);
  } else {
    deliver(serve);
  }
  responder_.pump();
}

void ServeSession::deliver(Serve& serve) {
  --unanswered_;
  serve.state = Serve::State::delivering;
  const bool is_good = serve.status == Status::ok;
  const std::uint32_t bytes = is_good ? std::min(serve.bytes, serve.length) : 0;
  const auto payload = bytes == 0 ? std::span<const std::byte>{} : std::span<const std::byte>(serve.block->data, bytes);
  std::uint32_t crc = serve.kind == ObjectJob::Kind::stat && !serve.skip_crc ? crc32c(payload) : serve.crc;
  const auto flags = static_cast<std::uint16_t>(serve.flags & ~RDE_COMPLETION_FLAG_LOCAL);
  const wire::DataHeader header{.magic = wire::kDataMagic,
                                .status = static_cast<std::uint16_t>(serve.status),
                                .flags = is_good ? flags : std::uint16_t{0},
                                .id = serve.request_id,
                                .bytes = bytes,
                                .crc = is_good ? crc : 0,
                                .etag = is_good ? serve.etag : 0,
                                .reserved0 = 0,
                                .object_size = is_good ? serve.object_size : 0,
                                .reserved = {}};
  PeerCounters& counters = responder_.host_.counters();
  ++counters.serves;
  counters.served_bytes += bytes;
  const Status status =
      link_->deliver(serve.request_id, serve.landing, wire::bytes_of(header), payload, *responder_.memory_, &serve);
  if (status == Status::ok) return;
  release(serve);
  if (status != Status::peer_down) link_->close({status, "a delivery to the peer failed"});
}

void ServeSession::on_delivered(Link& /*link*/, void* context, Status /*status*/) {
  Serve& serve = *static_cast<Serve*>(context);
  if (serve.cancelled) give_credit(serve.request_id);
  release(serve);
  responder_.pump();
}

Result<void> ServeSession::take_cancel(std::span<const std::byte> message) {
  const auto cancel = wire::parse_id(message);
  if (!cancel) return cancel.error();
  const auto it = std::ranges::find(serves_, cancel->id, [](const Serve* serve) { return serve->request_id; });
  if (it == serves_.end()) {  // answered while the CANCEL was on its way
    give_credit(cancel->id);
    return {};
  }
  Serve& serve = **it;
  if (serve.cancelled) return Error{Status::protocol_error, "cancel.id " + std::to_string(cancel->id) + " came twice"};
  serve.cancelled = true;
  if (serve.state == Serve::State::queued) {
    (responder_.staging_->is_large(serve.length) ? large_ : small_).remove(serve);
    --unanswered_;
    give_credit(serve.request_id);
    release(serve);
  } else if (serve.state == Serve::State::reading) {
    responder_.source_->cancel(serve);
  }
  return {};
}

void ServeSession::give_credit(std::uint64_t id) {
  send(wire::IdMessage{wire::head_of<wire::IdMessage>(wire::kCredit), id});
}

void ServeSession::release(Serve& serve) {
  large_blocks_ -= serve.block && serve.block->is_large ? 1 : 0;
  serves_.back()->place = serve.place;
  serves_[serve.place] = serves_.back();
  serves_.pop_back();
  responder_.release(serve);
}

}  // namespace rde
