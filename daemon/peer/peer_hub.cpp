#include "peer/peer_hub.h"

#include <algorithm>
#include <utility>

namespace rde {
namespace {

constexpr Nanoseconds kTeardown = 2 * kSecond;

}  // namespace

PeerHub::PeerHub(const PeerParts& parts, const PeerOptions& options)
    : transport_(parts.transport), options_(options), random_state_(options.engine | 1) {
  options_.features = parts.regions != nullptr ? wire::kRegions : 0;
}

Result<std::unique_ptr<PeerHub>> PeerHub::create(const PeerParts& parts, const PeerOptions& options) {
  if (auto checked = check(options); !checked) return checked.error();
  std::unique_ptr<PeerHub> hub(new PeerHub(parts, options));
  if (auto started = hub->start(parts); !started) return started.error();
  return hub;
}

Result<void> PeerHub::start(const PeerParts& parts) {
  std::optional<StagingBlocks> staging;
  std::span<std::byte> bytes = no_staging_;
  if (parts.source != nullptr || parts.regions != nullptr) {
    auto cut = StagingBlocks::cut(parts.staging, options_.small_read, options_.slice);
    if (!cut) return cut.error();
    staging = std::move(*cut);
    bytes = parts.staging;
  }
  const auto memory = transport_.add_memory(bytes);
  if (!memory) return memory.error();
  staging_memory_ = *memory;
  responder_ = std::make_unique<Responder>(static_cast<PeerHost&>(*this), parts.source, parts.volumes,
                                           std::move(staging), staging_memory_, parts.regions);
  return {};
}

PeerHub::~PeerHub() {
  if (responder_ == nullptr) return;
  stop();
  // A transport ends its links within a bound of its own; time goes on by itself here.
  const Nanoseconds begin = now_ns();
  const Nanoseconds first = now_;
  while (!is_stopped() && now_ns() - begin < kTeardown) progress(first + (now_ns() - begin));
  transport_.remove_memory(staging_memory_);
}

Result<SocketAddress> PeerHub::listen(const SocketAddress& where) {
  if (options_.psk.empty() && !where.is_loopback()) {
    return Error{
        Status::peer_not_allowed,
        "listen " + where.text() + ": without a pre-shared key only loopback peers are accepted; give --psk-file"};
  }
  return transport_.listen(where, *responder_);
}

const PeerHub::Entry* PeerHub::find(Handle peer) const {
  if (peer.index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[peer.index];
  // A peer that is given back has no handle any more, however long its link takes to end.
  const bool is_held = entry.is_static || entry.opens != 0;
  return is_held && entry.generation == peer.generation && entry.peer != nullptr ? &entry : nullptr;
}

PeerHub::Entry* PeerHub::find(Handle peer) { return const_cast<Entry*>(std::as_const(*this).find(peer)); }

Status PeerHub::state(Handle peer) const {
  if (const Entry* entry = find(peer)) return entry->peer->is_ready() ? Status::ok : Status::peer_down;
  const bool was_given =
      peer.index < entries_.size() && !peer.is_null() && peer.generation <= entries_[peer.index].generation;
  return was_given ? Status::stale_handle : Status::invalid_handle;
}

Status PeerHub::region_state(Handle peer) const {
  const Status status = state(peer);
  return status == Status::ok && !find(peer)->peer->serves_regions() ? Status::not_supported : status;
}

Result<PeerHub::Entry*> PeerHub::entry_for(const SocketAddress& where) {
  const std::string text = where.text();
  if (draining_) return Error{Status::draining, "peer " + text + ": this engine is stopping"};
  if (options_.psk.empty() && !where.is_loopback()) {
    return Error{Status::peer_not_allowed,
                 "peer " + text + ": without a pre-shared key only loopback peers are allowed; give --psk-file"};
  }
  Entry* vacant = nullptr;
  for (Entry& entry : entries_) {
    if (entry.peer == nullptr) {
      vacant = vacant == nullptr ? &entry : vacant;
    } else if (entry.peer->address().text() == text && entry.peer->state() != RemotePeer::State::closing &&
               entry.peer->state() != RemotePeer::State::closed) {
      return &entry;
    }
  }
  if (vacant == nullptr) {
    if (entries_.size() >= options_.max_peers) {
      return Error{Status::too_many_peers, "peer " + text + ": " + std::to_string(options_.max_peers) +
                                               " peers are open, the limit (max_peers)"};
    }
    vacant = &entries_.emplace_back();
  }
  const auto index = static_cast<std::uint32_t>(vacant - entries_.data());
  vacant->generation = std::max(1U, vacant->generation + 1);
  vacant->is_static = false;
  vacant->opens = 0;
  vacant->small_until = 0;
  vacant->peer = std::make_unique<RemotePeer>(static_cast<PeerHost&>(*this), Handle{index, vacant->generation}, where);
  return vacant;
}

Result<Handle> PeerHub::add_static(const SocketAddress& where) {
  const auto found = entry_for(where);
  if (!found) return found.error();
  (*found)->is_static = true;
  const Handle handle = (*found)->peer->handle();
  (*found)->peer->hurry();
  return handle;
}

Result<Handle> PeerHub::open(const SocketAddress& where, OpenObserver* observer) {
  const auto found = entry_for(where);
  if (!found) return found.error();
  Entry& entry = **found;
  const Handle handle = entry.peer->handle();
  ++entry.opens;
  if (entry.peer->is_ready()) {
    notices_.push_back({observer, handle, Status::ok});
  } else {
    entry.waiting.push_back(observer);
    entry.peer->hurry();
  }
  return handle;
}

Status PeerHub::close(Handle peer) {
  Entry* entry = find(peer);
  if (entry == nullptr) return state(peer);
  if (entry->opens == 0) return Status::permission_denied;
  if (--entry->opens == 0 && !entry->is_static) entry->peer->close();
  reap_closed();
  return Status::ok;
}

void PeerHub::on_attempt(RemotePeer& peer, Status status) {
  Entry* entry = find(peer.handle());
  if (entry == nullptr) return;
  for (OpenObserver* observer : entry->waiting) notices_.push_back({observer, peer.handle(), status});
  if (status != Status::ok) {
    entry->opens -= static_cast<std::uint32_t>(entry->waiting.size());
    if (entry->opens == 0 && !entry->is_static) peer.close();
  }
  entry->waiting.clear();
}

std::optional<Handle> PeerHub::find_volume(std::uint32_t volume) const {
  const RemotePeer* best = nullptr;
  const auto cost = [&](const RemotePeer& peer) {
    return peer.in_flight() + peer.queued() + (peer.is_quiet(now_) ? std::size_t{1} << 32 : 0);
  };
  for (const Entry& entry : entries_) {
    if (entry.peer == nullptr || !entry.peer->is_ready() || !entry.peer->catalog().has(volume)) continue;
    if (best == nullptr || cost(*entry.peer) < cost(*best)) best = entry.peer.get();
  }
  if (best == nullptr) return std::nullopt;
  return best->handle();
}

std::vector<PeerInfo> PeerHub::list() const {
  std::vector<PeerInfo> infos;
  for (const Entry& entry : entries_) {
    if (entry.peer == nullptr) continue;
    const RemotePeer& peer = *entry.peer;
    infos.push_back({.handle = peer.handle(),
                     .address = peer.address().text(),
                     .state = peer.state(),
                     .is_static = entry.is_static,
                     .volumes = peer.catalog().size(),
                     .in_flight = peer.in_flight(),
                     .queued = peer.queued(),
                     .round_trip = peer.round_trip(),
                     .engine_version = std::string(peer.engine_version()),
                     .transport_version = std::string(peer.transport_version()),
                     .last_error = peer.last_error().text});
  }
  return infos;
}

std::size_t PeerHub::ready_peers() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [](const Entry& entry) { return entry.peer != nullptr && entry.peer->is_ready(); }));
}

std::uint32_t PeerHub::random() {
  random_state_ ^= random_state_ << 13;
  random_state_ ^= random_state_ >> 7;
  random_state_ ^= random_state_ << 17;
  return static_cast<std::uint32_t>(random_state_ >> 32);
}

}  // namespace rde
