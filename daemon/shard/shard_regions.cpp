// Regions of a shard's clients: those that they exposed, and their uses of others'.
#include <sched.h>

#include <algorithm>

#include "shard/shard.h"

namespace rde {

void Operation::RegionUse::on_done() {
  operation->has_job = false;
  operation->shard->end_region_use_st(*operation);
}

void Shard::watch_region_st(ClientState& client, Handle region, Nanoseconds expires) {
  ExposedRegion& exposed = client.exposed[region.value()];
  exposed.client = &client;
  exposed.handle = region;
  region_expiries_.add(exposed, expires);
}

void Shard::forget_region_st(ClientState& client, Handle region) {
  const auto found = client.exposed.find(region.value());
  if (found == client.exposed.end()) return;
  region_expiries_.remove(found->second);
  client.exposed.erase(found);
}

// Its record stays in the client's list while somebody still copies: the segment must not go before.
void Shard::expire_region(ExposedRegion& region) {
  regions_->close(region.handle, region.client->number(), RegionEnd::expired);
  if (regions_->is_pinned(region.handle)) return region_expiries_.add(region, now_ + kMillisecond);
  forget_region_st(*region.client, region.handle);
}

void Shard::end_revoke_st(Operation& operation) { revokes_.push_back(&operation); }

bool Shard::end_revokes() {
  for (std::size_t i = 0; i < revokes_.size();) {
    Operation& operation = *revokes_[i];
    const Handle region = Handle::from(operation.request.handle);
    if (regions_->is_pinned(region)) {
      ++i;
      continue;
    }
    revokes_[i] = revokes_.back();
    revokes_.pop_back();
    forget_region_st(operation.channel->client(), region);
    end_st(operation, Status::ok, 0, 0, 0, 0);
  }
  return true;
}

void Shard::close_regions(ClientState& client) {
  for (const auto& [value, region] : client.exposed)
    regions_->close(region.handle, client.number(), RegionEnd::client_gone);
}

// True while some are left: another shard copies.
bool Shard::drop_quiet_regions(ClientState& client) {
  for (auto entry = client.exposed.begin(); entry != client.exposed.end();) {
    if (regions_->is_pinned(entry->second.handle)) {
      ++entry;
      continue;
    }
    region_expiries_.remove(entry->second);
    entry = client.exposed.erase(entry);
  }
  return !client.exposed.empty();
}

void Shard::wait_for_regions() {
  for (auto& [number, client] : clients_) close_regions(*client);
  for (auto& [number, client] : clients_) {
    while (drop_quiet_regions(*client)) sched_yield();
  }
}

void Shard::use_region_st(Operation& operation) {
  operation.has_job = true;
  if (operation.peer.is_null()) {
    local_regions_.submit(operation.region);
    io_due_ = true;
  } else {
    io_st().submit(operation.peer, operation.region, {operation.channel->client().transport_memory});
  }
}

void Shard::cancel_job(Operation& operation) {
  if (!operation.is_region) return io_->cancel(operation.peer, operation);
  if (!operation.peer.is_null()) return io_->cancel(operation.peer, operation.region);
  local_regions_.cancel(operation.region);
}

void Shard::end_region_use_st(Operation& operation) {
  const RegionJob& job = operation.region;
  ClientState& client = operation.channel->client();
  OpenedRegion* region = client.opened.find(Handle::from(operation.request.handle));
  if (region != nullptr && job.changes()) {
    --region->changing;
    std::erase_if(region->flushes, [&](Operation* flush) {
      if (flush->region.order < operation.region.order || --flush->region.awaited != 0) return false;
      begin_flush(*flush);
      return true;
    });
  }
  const bool moved = job.status == Status::ok && job.is_transfer();
  end_st(operation, job.status, 0, moved ? operation.request.length : 0, 0, job.value);
}

// The writes before it are over; where its client has given it up, or this shard ends its transport, so is the FLUSH.
void Shard::begin_flush(Operation& flush) {
  const bool is_wanted = flush.state == Operation::State::in_flight && !flush.channel->client().gone;
  if (is_wanted && !stopped_) return use_region_st(flush);
  end_st(flush, Status::cancelled, 0, 0, 0, 0);
}

}  // namespace rde
