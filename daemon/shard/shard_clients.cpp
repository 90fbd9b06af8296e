// Clients come and go.
#include <sys/epoll.h>

#include <algorithm>
#include <string_view>

#include "attach/hello.h"
#include "shard/shard.h"

namespace rde {
namespace {

struct CounterName {
  std::uint32_t type;
  std::string_view label;
};
// In the order of publish_counters().
constexpr CounterName kCounters[] = {
    {RDE_COUNTER_TYPE_COUNT, "requests"},        {RDE_COUNTER_TYPE_COUNT, "completions"},
    {RDE_COUNTER_TYPE_COUNT, "failures"},        {RDE_COUNTER_TYPE_COUNT, "bytes"},
    {RDE_COUNTER_TYPE_COUNT, "ring_violations"}, {RDE_COUNTER_TYPE_COUNT, "wakeups"},
    {RDE_COUNTER_TYPE_GAUGE, "operations"},      {RDE_COUNTER_TYPE_GAUGE, "quarantined_bytes"},
};

void label_counters(std::span<rde_counter> counters) {
  for (std::uint32_t i = 0; i < std::size(kCounters) && i < counters.size(); ++i) {
    counters[i].id = i + 1;
    counters[i].type = kCounters[i].type;
    put_text(counters[i].label, kCounters[i].label);
  }
}

}  // namespace

void Shard::add_client_st(NewClient given) {
  const auto number = given.number;
  auto client = std::make_unique<ClientState>(std::move(given));
  if (auto memory = io_->add_arena(client->view().arena())) {
    client->transport_memory = memory->transport;
  } else {
    // Peers cannot be read into this arena; volumes of this engine can.
    client->recorder().note(now_, RDE_EVENT_FAULT, 0, static_cast<std::uint64_t>(Status::registration_failed), 0);
  }
  client->sessions = sessions_->add_owner(session_slab_, client->uid(), now_);
  label_counters(client->view().counters());
  if (auto watched = watch(client->doorbell_descriptor(), true); !watched) {
    // The client is served all the same, but it cannot wake this shard: a sleep ends by its cap.
    client->recorder().note(now_, RDE_EVENT_FAULT, 0, static_cast<std::uint64_t>(Status::system_error), 0);
  }
  store_release(&client->view().engine_page()->state,
                std::uint32_t{draining_ ? RDE_ENGINE_STATE_DRAINING : RDE_ENGINE_STATE_SERVING});
  for (auto& channel : client->channels()) {
    store_release(&channel.lines()->state, std::uint32_t{RDE_CHANNEL_STATE_OPEN});
    heat(channel);
  }
  live_channels_ += client->channels().size();
  client_order_.push_back(client.get());
  clients_.emplace(number, std::move(client));
  bump(stats_.clients);
}

void Shard::remove_client_st(std::uint64_t number, std::function<void()> when_gone) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) {
    when_gone();
    return;
  }
  ClientState& client = *found->second;
  client.gone = true;
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, client.doorbell_descriptor(), nullptr);
  hot_channels_ -= client.hot.size();
  live_channels_ -= client.channels().size();
  client.hot.clear();
  std::erase(hot_clients_, &client);
  std::erase_if(dirty_, [&](EngineChannel* channel) { return &channel->client() == &client; });
  std::erase(client_order_, &client);
  cancel_operations(client);
  close_regions(client);
  for (const auto& [peer, references] : client.peers) {
    for (std::uint32_t i = 0; i < references; ++i) io_->close_peer(Handle::from(peer));
  }
  gone_.emplace(number, std::move(when_gone));
  drop(stats_.clients);
}

void Shard::cancel_operations(ClientState& client) {
  for (auto& channel : client.channels()) {
    channel.for_each_operation([this](Operation& operation) {
      if (!operation.has_job || operation.cancel_asked) return;
      operation.cancel_asked = true;
      cancel_job(operation);
    });
  }
}

// A segment lives until the last transfer into it has ended. True while there is more to do at once.
bool Shard::free_gone_clients() {
  bool more = false;
  for (auto entry = gone_.begin(); entry != gone_.end();) {
    const auto client = clients_.find(entry->first);
    const bool sessions_left = sessions_->end_some(client->second->sessions, kSessionsPerTurn);
    const bool regions_left = drop_quiet_regions(*client->second);
    more |= sessions_left || regions_left;
    if (sessions_left || regions_left || client->second->operations != 0) {
      ++entry;
      continue;
    }
    io_->remove_arena(client->second->view().arena(), {client->second->transport_memory});
    clients_.erase(client);
    const auto when_gone = std::move(entry->second);
    entry = gone_.erase(entry);
    when_gone();
  }
  return more;
}

}  // namespace rde
