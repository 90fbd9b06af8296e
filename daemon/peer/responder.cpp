#include "peer/responder.h"

#include <algorithm>

namespace rde {

Responder::Responder(PeerHost& host, ObjectSource* source, const VolumeList* volumes,
                     std::optional<StagingBlocks> staging, Memory* memory, RegionTable* regions)
    : host_(host),
      source_(source),
      volumes_(volumes),
      staging_(std::move(staging)),
      memory_(memory),
      regions_(regions) {
  snapshot_.refresh(volumes_);
}

LinkObserver* Responder::on_accept(Link& link) {
  if (draining_ || sessions_.size() >= host_.options().max_sessions) return nullptr;
  return sessions_.emplace_back(std::make_unique<ServeSession>(*this, link)).get();
}

unsigned Responder::progress() {
  if (sessions_.empty()) return 0;
  unsigned events = 0;
  if (snapshot_.refresh(volumes_)) {
    ++events;
    needs_look_ = true;
    for (auto& session : sessions_) session->announce_anew();
  }
  if (!needs_look_) return events;
  needs_look_ = false;
  for (auto& session : sessions_) session->announce();
  events += static_cast<unsigned>(std::erase_if(sessions_, [](const auto& session) { return session->is_gone(); }));
  return events;
}

void Responder::tick(Nanoseconds now) {
  for (auto& session : sessions_) session->tick(now);
}

void Responder::drain() {
  draining_ = true;
  for (auto& session : sessions_) session->say_goodbye();
}

void Responder::close_all(const Error& why) {
  draining_ = true;
  for (auto& session : sessions_) session->close(why);
}

void Responder::pump() {
  if (is_pumping_) return;
  is_pumping_ = true;
  for (std::size_t idle = 0; idle < waiting_.size();) {
    ServeSession* session = waiting_.pop_front();
    idle = session->start_some() ? 0 : idle + 1;
    if (session->has_queued()) waiting_.push_back(*session);
  }
  is_pumping_ = false;
}

void Responder::release(Serve& serve) {
  if (serve.block) staging_->give_back(*serve.block);
  serve.block.reset();
  serve.session = nullptr;
  serves_.give_back(serve);
}

}  // namespace rde
