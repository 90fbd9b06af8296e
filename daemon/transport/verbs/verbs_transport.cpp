#include "transport/verbs/verbs_transport.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/verbs/verbs_device.h"

namespace rde {
namespace {

constexpr Nanoseconds kTeardown = 2 * kSecond;
constexpr Nanoseconds kDrainCheck = kMillisecond;
constexpr std::size_t kMaxKeptDomains = 64;  // of peers that are away

Result<void> watch(const Descriptor& epoll, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {}};
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return system_error("epoll of the transport", errno);
}

}  // namespace

Result<std::unique_ptr<VerbsTransport>> VerbsTransport::create(const VerbsOptions& options) {
  std::unique_ptr<VerbsTransport> transport(new VerbsTransport(options));
  if (auto started = transport->start(); !started) return started.error();
  return transport;
}

Result<void> VerbsTransport::start() {
  now_ = now_ns();
  if (!options_.device.empty()) {
    const auto context = open_verbs_device(options_.device);
    if (!context) return context.error();
    devices_ = options_.device;
  } else {
    for (const auto& name : verbs_devices()) devices_ += (devices_.empty() ? "" : ",") + name;
  }
  if (devices_.empty()) {
    return Error{Status::device_not_found,
                 "this host has no RDMA device (rdma link lists them; is the driver loaded?)"};
  }
  channel_.reset(rdma_create_event_channel());
  if (!channel_) {
    return verbs_error(Status::context_init_failed, "rdma_cm (is the module rdma_ucm loaded?)", errno);
  }
  const int flags = ::fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) return system_error("rdma_cm", errno);
  wakeups_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!wakeups_) return system_error("epoll of the transport", errno);
  return watch(wakeups_, channel_->fd);
}

VerbsTransport::~VerbsTransport() {
  entrances_.clear();
  for (auto& link : links_) {
    link->observer_ = nullptr;
    link->end({Status::peer_down, "the transport goes away"}, true);
  }
  const Nanoseconds deadline = now_ns() + kTeardown;
  while (!links_.empty() && now_ns() < deadline) progress(now_ns());
}

Result<Memory*> VerbsTransport::add_memory(std::span<std::byte> bytes) {
  return memories_.add(std::make_unique<VerbsMemory>(bytes));
}

void VerbsTransport::remove_memory(Memory* memory) {
  for (auto& link : links_) {
    if (link->domain_) link->domain_->forget(memory);
  }
  for (auto& kept : kept_domains_) kept.domain->forget(memory);
  memories_.remove(memory);
}

Result<VerbsQueues*> VerbsTransport::queues_for(ibv_context* context) {
  const auto it = std::ranges::find(queues_, context, [](const auto& queues) { return queues->context(); });
  if (it != queues_.end()) return it->get();
  auto queues = VerbsQueues::open(context);
  if (!queues) return queues.error();
  if (auto watched = watch(wakeups_, (*queues)->event_descriptor()); !watched) return watched.error();
  return queues_.emplace_back(std::move(*queues)).get();
}

Result<std::unique_ptr<VerbsDomain>> VerbsTransport::take_domain(ibv_context* context, const std::string& peer) {
  const auto it = std::ranges::find_if(kept_domains_, [&](const KeptDomain& kept) {
    return !peer.empty() && kept.peer == peer && kept.domain->context() == context;
  });
  if (it == kept_domains_.end()) return VerbsDomain::open(context);
  auto domain = std::move(it->domain);
  kept_domains_.erase(it);
  return domain;
}

void VerbsTransport::keep_domain(std::unique_ptr<VerbsDomain> domain, const std::string& peer) {
  // Who connects to us comes from another port each time: its domain is not known again.
  if (peer.empty()) return;
  if (kept_domains_.size() >= kMaxKeptDomains) kept_domains_.erase(kept_domains_.begin());
  kept_domains_.push_back({peer, std::move(domain)});
}

void VerbsTransport::mark_dirty(VerbsLink& link) {
  if (std::exchange(link.is_dirty_, true)) return;
  dirty_.push_back(&link);
}

void VerbsTransport::note_refused(const VerbsLink& link, const Error& why) const {
  spdlog::warn("verbs peer={} broke the protocol: {}", link.remote_.text(), why.text);
}

unsigned VerbsTransport::poll_queues() {
  unsigned count = 0;
  for (auto& queues : queues_) {
    count += queues->poll([&](const ibv_wc& completion) {
      // Of a link that is gone: its queue pair is destroyed, its buffers are not touched.
      const auto it = by_serial_.find(static_cast<std::uint32_t>(completion.wr_id >> 32));
      if (it != by_serial_.end()) it->second->on_completion(completion);
    });
  }
  return count;
}

unsigned VerbsTransport::tell_deferred() {
  telling_.swap(deferred_);
  const auto told = std::exchange(telling_, {});
  for (const Deferred& deferred : told) {
    if (deferred.link->observer_ != nullptr) {
      deferred.link->observer_->on_delivered(*deferred.link, deferred.context, deferred.status);
    }
  }
  return static_cast<unsigned>(told.size());
}

void VerbsTransport::flush_dirty() {
  flushing_.swap(dirty_);
  for (VerbsLink* link : flushing_) {
    link->is_dirty_ = false;
    link->flush();
  }
  flushing_.clear();
}

void VerbsTransport::beat_links() {
  beat_due_ = now_ + kHeartbeat;
  for (auto& link : links_) link->beat();
}

unsigned VerbsTransport::progress(Nanoseconds now) {
  now_ = std::max(now_, now);
  unsigned events = 0;
  if (std::exchange(is_armed_, false)) {
    for (auto& queues : queues_) queues->acknowledge();
    events_due_ = 0;
  }
  events += poll_queues();
  if (now_ >= events_due_) events += take_events();
  if (!deferred_.empty()) events += tell_deferred();
  if (!dirty_.empty()) flush_dirty();
  if (now_ >= beat_due_) beat_links();
  if (unsettled_ != 0) settle_links();
  return events;
}

void VerbsTransport::settle_links() {
  for (std::size_t i = 0; i < links_.size();) {
    if (links_[i]->state_ != VerbsLink::State::up) links_[i]->advance(now_);
    if (links_[i]->state_ != VerbsLink::State::gone) {
      ++i;
      continue;
    }
    const auto link = std::move(links_[i]);
    links_[i] = std::move(links_.back());
    links_.pop_back();
    by_serial_.erase(link->serial_);
    std::erase(dirty_, link.get());
    --unsettled_;
    if (link->observer_ != nullptr) link->observer_->on_down(*link, link->why_);
  }
}

bool VerbsTransport::busy() const { return delivering_ != 0 || !dirty_.empty() || !deferred_.empty(); }

Nanoseconds VerbsTransport::next_timer() const {
  if (links_.empty()) return kNoTimer;
  Nanoseconds next = links_.size() > unsettled_ ? beat_due_ : kNoTimer;
  if (unsettled_ == 0) return next;
  for (const auto& link : links_) {
    if (link->state_ == VerbsLink::State::closing) next = std::min(next, now_ + kDrainCheck);
    if (link->state_ == VerbsLink::State::ending || link->state_ == VerbsLink::State::connecting) {
      next = std::min(next, link->deadline_);
    }
  }
  return next;
}

bool VerbsTransport::arm() {
  if (!deferred_.empty() || !dirty_.empty()) return false;
  is_armed_ = true;
  bool is_quiet = true;
  for (auto& queues : queues_) is_quiet &= queues->arm();
  return is_quiet;
}

}  // namespace rde
