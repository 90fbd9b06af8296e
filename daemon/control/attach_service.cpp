#include "control/attach_service.h"

#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "control/memory_limit.h"
#include "version.h"

namespace rde {
namespace {

constexpr Nanoseconds kHandshakeTime = 5 * kSecond;
constexpr std::size_t kMostHandshakes = 256;
constexpr unsigned kAcceptsAtOnce = 64;  // before other descriptors have their turn
constexpr std::uint32_t kDefaultChannels = 1;
constexpr std::uint32_t kDefaultDepth = 64;

}  // namespace

struct AttachService::Gone {
  std::mutex mutex;
  std::vector<std::uint64_t> numbers;
  Descriptor event;
};

AttachService::AttachService(const Config& config, std::uint64_t epoch, EventLoop& loop,
                             std::vector<std::unique_ptr<Shard>>& shards)
    : config_(config), epoch_(epoch), loop_(loop), shards_(shards), gone_(std::make_shared<Gone>()) {
  most_bytes_ = most_segment_bytes(config, memory_limit());
}

AttachService::~AttachService() {
  refuse_new();
  for (const auto& [descriptor, connection] : connections_) loop_.remove(descriptor);
  for (const auto& [number, client] : clients_) {
    if (client.process) loop_.remove(client.process.get());
  }
  if (gone_->event) loop_.remove(gone_->event.get());
}

Result<void> AttachService::start() {
  auto event = prim::make_event();
  if (!event) return event.error();
  gone_->event = std::move(*event);
  if (auto added = loop_.add(gone_->event.get(), [this] { forget_gone(); }); !added) return added;
  auto listener = AttachListener::open({config_.socket, config_.socket_mode, config_.socket_group});
  if (!listener) return listener.error();
  listener_ = std::make_unique<AttachListener>(std::move(*listener));
  auto added = loop_.add(listener_->descriptor(), [this] { accept(); });
  listening_ = static_cast<bool>(added);
  return added;
}

void AttachService::refuse_new() {
  if (!listener_) return;
  if (listening_) loop_.remove(listener_->descriptor());
  listening_ = false;
  listener_.reset();
}

void AttachService::tick() {
  const Nanoseconds now = now_ns();
  std::vector<int> late;
  for (const auto& [descriptor, connection] : connections_) {
    if (!connection.attach->is_attached() && now - connection.since > kHandshakeTime) late.push_back(descriptor);
  }
  for (const int descriptor : late) close(descriptor, "the handshake took too long");
  if (listener_ && !listening_)
    listening_ = static_cast<bool>(loop_.add(listener_->descriptor(), [this] { accept(); }));
}

void AttachService::reload(const Config& config) {
  config_.allow_uid = config.allow_uid;
  config_.allow_gid = config.allow_gid;
}

std::size_t AttachService::attached() const { return clients_.size(); }

void AttachService::accept() {
  for (unsigned i = 0; i < kAcceptsAtOnce; ++i) {
    Descriptor socket = listener_->accept();
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting(errno);
      return;
    }
    if (handshakes() >= kMostHandshakes) close_oldest_handshake();
    const int descriptor = socket.get();
    if (!loop_.add(descriptor, [this, descriptor] { on_readable(descriptor); })) continue;
    connections_[descriptor] = {std::make_unique<AttachConnection>(std::move(socket), *this), now_ns(), 0};
  }
}

// Without descriptors or memory the listener would stay readable, and this thread busy: looked at again by tick().
void AttachService::pause_accepting(int error_number) {
  spdlog::warn("cannot accept attach connections: {}; raise the limit of open files (LimitNOFILE)",
               std::strerror(error_number));
  loop_.remove(listener_->descriptor());
  listening_ = false;
}

std::size_t AttachService::handshakes() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(connections_, [](const auto& entry) { return !entry.second.attach->is_attached(); }));
}

// Whoever connects and says nothing must not keep out those who come after.
void AttachService::close_oldest_handshake() {
  const auto oldest = std::ranges::min_element(connections_, {}, [](const auto& entry) {
    return entry.second.attach->is_attached() ? ~Nanoseconds{0} : entry.second.since;
  });
  close(oldest->first, "too many handshakes at once; the oldest makes room");
}

void AttachService::on_readable(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  serving_ = descriptor;
  const bool goes_on = found->second.attach->on_readable();
  serving_ = -1;
  if (!goes_on) close(descriptor, found->second.attach->reason());
}

void AttachService::close(int descriptor, const std::string& reason) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  const auto number = found->second.client;
  if (!reason.empty()) spdlog::warn("attach connection ended client={} reason=\"{}\"", number, reason);
  loop_.remove(descriptor);
  connections_.erase(found);
  if (number != 0) detach(number);
}

void AttachService::forget_gone() {
  std::uint64_t count = 0;
  (void)!::read(gone_->event.get(), &count, sizeof count);
  std::vector<std::uint64_t> numbers;
  {
    const std::lock_guard lock(gone_->mutex);
    numbers.swap(gone_->numbers);
  }
  for (const auto number : numbers) forget(number);
}

bool AttachService::may_attach(const prim::PeerIdentity& who) const {
  return who.uid == 0 || who.uid == geteuid() || config_.allow_uid.contains(who.uid) ||
         config_.allow_gid.contains(who.gid);
}

bool AttachService::may_look(const prim::PeerIdentity& who, const Client& client) {
  return who.uid == 0 || who.uid == client.who.uid;
}

std::variant<AttachOffer, Refusal> AttachService::offer(const rde_attach_hello& hello, const prim::PeerIdentity& who) {
  if (!may_attach(who)) {
    return Refusal{Status::permission_denied, "uid",
                   "uid " + std::to_string(who.uid) + " (gid " + std::to_string(who.gid) +
                       ") may not attach; the engine runs as uid " + std::to_string(geteuid()) +
                       "; allow it with --allow-uid or --allow-gid"};
  }
  if (clients_.size() >= config_.max_clients) {
    return Refusal{Status::resource_exhausted, "client",
                   std::to_string(clients_.size()) + " clients are attached; raise --max-clients"};
  }
  const auto number = next_number_++;
  SegmentOptions options;
  options.plan.total_size = hello.segment_size != 0 ? hello.segment_size : config_.segment_size;
  options.plan.channels = hello.channels != 0 ? hello.channels : kDefaultChannels;
  options.plan.depth = hello.depth != 0 ? hello.depth : kDefaultDepth;
  options.plan.client_number = number;
  options.hugepages = config_.hugepages;
  options.epoch = epoch_;
  options.engine_pid = static_cast<std::uint32_t>(getpid());
  options.client_pid = static_cast<std::uint32_t>(who.pid);
  if (options.plan.total_size > most_bytes_ - std::min(most_bytes_, bytes_)) {
    return Refusal{Status::resource_exhausted, "segment_size",
                   std::to_string(options.plan.total_size) + " bytes wanted, " + std::to_string(bytes_) + " of " +
                       std::to_string(most_bytes_) + " in use; raise --max-segment-bytes or ask for a smaller segment"};
  }
  auto segment = Segment::create(options);
  if (!segment) return Refusal{segment.error().status, "segment_size", segment.error().text};
  auto wake = prim::make_wake_pair();
  auto doorbell = prim::make_event();
  if (!wake || !doorbell)
    return Refusal{Status::resource_exhausted, "descriptors", "no descriptor left; raise the limit of open files"};
  if (!(*segment)->shortage().empty()) {
    spdlog::log(std::exchange(told_of_shortage_, true) ? spdlog::level::debug : spdlog::level::warn,
                "segment on ordinary pages (--hugepages off if that is meant) client={} reason=\"{}\"", number,
                (*segment)->shortage());
  }

  Client client;
  client.number = number;
  client.who = who;
  client.name = get_text(hello.name);
  client.segment = std::move(*segment);
  client.doorbell = std::make_shared<Descriptor>(std::move(*doorbell));
  client.attached_ns = now_ns();
  client.bytes = client.segment->view().header().total_size;
  watch_process(client, serving_);
  connections_.at(serving_).client = number;
  bytes_ += client.bytes;
  AttachOffer offer{client.segment, std::move(*wake), {client.doorbell->get()}, kVersion};
  clients_.emplace(number, std::move(client));
  return offer;
}

// The socket of a client that died can be held open by a child that it forked; its pidfd tells the truth.
void AttachService::watch_process(Client& client, int connection) {
  client.process = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, client.who.pid, 0)));
  if (!client.process) return;
  const int process = client.process.get();
  (void)loop_.add(process, [this, process, connection] {
    loop_.remove(process);
    close(connection, "");
  });
}

void AttachService::attached(AttachOffer offer) {
  const auto number = offer.segment->view().header().client_number;
  Client& client = clients_.at(number);
  client.in_shard = true;
  spdlog::info("client attached client={} name=\"{}\" pid={} uid={} bytes={} page_size={} channels={} depth={}", number,
               client.name, client.who.pid, client.who.uid, client.bytes, client.segment->view().header().page_size,
               client.segment->view().header().channel_count, client.segment->view().header().depth);
  auto given = std::make_shared<NewClient>(
      NewClient{number, std::move(offer.segment), std::move(offer.wake.ringer), client.doorbell});
  shard_of(number).post([given](Shard& shard) { shard.add_client_st(std::move(*given)); });
}

void AttachService::detach(std::uint64_t number) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  Client& client = found->second;
  if (client.process) {
    loop_.remove(client.process.get());
    client.process.reset();
  }
  client.segment.reset();
  if (!client.in_shard) return forget(number);
  shard_of(number).post([number, gone = gone_](Shard& shard) {
    shard.remove_client_st(number, [number, gone] {
      {
        const std::lock_guard lock(gone->mutex);
        gone->numbers.push_back(number);
      }
      prim::ring_event(gone->event.get());
    });
  });
}

void AttachService::forget(std::uint64_t number) {
  const auto found = clients_.find(number);
  if (found == clients_.end()) return;
  bytes_ -= found->second.bytes;
  spdlog::info("client gone client={} name=\"{}\" pid={}", number, found->second.name, found->second.who.pid);
  clients_.erase(found);
}

std::vector<rde_attach_client> AttachService::list(const prim::PeerIdentity& who) {
  std::vector<rde_attach_client> list;
  for (const auto& [number, client] : clients_) {
    if (!client.in_shard || !client.segment || !may_look(who, client)) continue;
    auto info = make_message<rde_attach_client>(RDE_ATTACH_TYPE_CLIENT_INFO);
    info.client_number = number;
    info.total_size = client.bytes;
    info.pid = static_cast<std::uint32_t>(client.who.pid);
    info.uid = client.who.uid;
    info.channels = client.segment->view().header().channel_count;
    info.depth = client.segment->view().header().depth;
    info.attached_ns = client.attached_ns;
    put_text(info.name, client.name);
    list.push_back(info);
  }
  return list;
}

std::variant<int, Refusal> AttachService::monitor(std::uint64_t client_number, const prim::PeerIdentity& who) {
  const auto found = clients_.find(client_number);
  if (found == clients_.end() || !found->second.segment || !found->second.in_shard || !may_look(who, found->second)) {
    return Refusal{Status::attach_refused, "target",
                   "there is no client " + std::to_string(client_number) + " that uid " + std::to_string(who.uid) +
                       " may look at"};
  }
  return found->second.segment->file();
}

}  // namespace rde
