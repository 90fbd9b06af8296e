// How a connection is made. The queue pair is ours, not rdma_cm's: its MTU is agreed in the hello, and its timeouts
// are those of verbs_limits.h.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/verbs/gid_choice.h"
#include "transport/verbs/verbs_device.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

VerbsHello VerbsLink::hello(std::uint8_t mtu) const {
  return {.magic = kVerbsMagic,
          .version = kVerbsWireVersion,
          .receives = kReceives,
          .frame_bytes = kFrameBytes,
          .path_mtu = mtu,
          .reserved = {}};
}

Result<VerbsHello> VerbsLink::check_hello(std::span<const std::byte> data) const {
  VerbsHello hello{};
  if (data.size() >= sizeof(hello)) std::memcpy(&hello, data.data(), sizeof(hello));
  if (hello.magic != kVerbsMagic) return Error{Status::protocol_error, remote_.text() + " is no rdma-engine"};
  if (hello.version != kVerbsWireVersion) {
    return Error{Status::peer_version, remote_.text() + " speaks link version " + std::to_string(hello.version) +
                                           ", this engine " + std::to_string(kVerbsWireVersion)};
  }
  if (hello.receives < kReservedCredits + 2 || hello.frame_bytes < kFrameBytes) {
    return Error{Status::protocol_error, "hello.receives " + std::to_string(hello.receives) + " or hello.frame_bytes " +
                                             std::to_string(hello.frame_bytes) + " is too small"};
  }
  return hello;
}

std::uint8_t VerbsLink::port_mtu() const {
  ibv_port_attr port{};
  if (ibv_query_port(connection_->verbs, connection_->port_num, &port) != 0) return IBV_MTU_256;
  return static_cast<std::uint8_t>(port.active_mtu);
}

Result<void> VerbsLink::open_queue_pair() {
  auto queues = transport_.queues_for(connection_->verbs);
  if (!queues) return queues.error();
  auto domain = transport_.take_domain(connection_->verbs, is_acceptor_ ? std::string() : remote_.text());
  if (!domain) return domain.error();
  domain_ = std::move(*domain);
  auto frames = FrameMemory::open(domain_->get());
  if (!frames) return frames.error();
  frames_ = std::move(*frames);
  auto queue = (*queues)->join();
  if (!queue) return queue.error();
  queues_ = *queues;
  queue_ = *queue;
  for (const std::uint32_t inline_bytes : {kInlineBytes, 64U, 0U}) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue_->queue.get();
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = kSendDepth,
                      .max_recv_wr = kReceives,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = inline_bytes};
    queue_pair_.reset(ibv_create_qp(domain_->get(), &attributes));
    inline_bytes_ = std::min(inline_bytes, attributes.cap.max_inline_data);
    if (queue_pair_) break;
  }
  if (!queue_pair_) return verbs_error(Status::resource_exhausted, "queue pair", errno);
  work_.reserve(kSendDepth);
  to_repost_.reserve(kReceives);
  if (auto done = to_init(); !done) return done;
  return post_receives();
}

Result<void> VerbsLink::to_init() {
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_INIT;
  if (rdma_init_qp_attr(connection_.get(), &attributes, &mask) != 0) {
    return verbs_error(Status::peer_unreachable, "attributes of the queue pair", errno);
  }
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  const int code = ibv_modify_qp(queue_pair_.get(), &attributes, mask);
  return code == 0 ? Result<void>() : verbs_error(Status::peer_unreachable, "queue pair to INIT", code);
}

// All of them before the peer can send anything.
Result<void> VerbsLink::post_receives() {
  for (std::uint16_t i = 0; i < kReceives; ++i) to_repost_.push_back(i);
  repost_receives();
  credits_ = {};
  return is_failed_ ? Result<void>(why_) : Result<void>();
}

void VerbsLink::repost_receives() {
  if (to_repost_.empty()) return;
  std::array<ibv_recv_wr, kReceives> requests;
  std::array<ibv_sge, kReceives> parts;
  const std::size_t count = to_repost_.size();
  for (std::size_t i = 0; i < count; ++i) {
    parts[i] = frames_->part(frames_->receive(to_repost_[i]));
    requests[i] = {.wr_id = (std::uint64_t{serial_} << 32) | 0x80000000U | to_repost_[i],
                   .next = i + 1 < count ? &requests[i + 1] : nullptr,
                   .sg_list = &parts[i],
                   .num_sge = 1};
  }
  to_repost_.clear();
  ibv_recv_wr* bad = nullptr;
  const int code = ibv_post_recv(queue_pair_.get(), requests.data(), &bad);
  if (code != 0) return fail(verbs_error(Status::peer_down, "posting receives for " + remote_.text(), code));
  receives_posted_ += static_cast<std::uint32_t>(count);
  credits_.owe(static_cast<std::uint32_t>(count));
}

Result<void> VerbsLink::to_ready(std::uint8_t mtu) {
  ibv_qp_attr attributes{};
  int mask = 0;
  attributes.qp_state = IBV_QPS_RTR;
  if (rdma_init_qp_attr(connection_.get(), &attributes, &mask) != 0) {
    return verbs_error(Status::peer_unreachable, "attributes of the queue pair", errno);
  }
  attributes.path_mtu = std::min(attributes.path_mtu, static_cast<ibv_mtu>(mtu));
  attributes.min_rnr_timer = kReceiverNotReadyTimer;
  const auto gid = read_gid(connection_->verbs, connection_->port_num, attributes.ah_attr.grh.sgid_index);
  const auto path_mtu = static_cast<std::uint8_t>(attributes.path_mtu);
  int code = ibv_modify_qp(queue_pair_.get(), &attributes, mask);
  if (code != 0) return verbs_error(Status::peer_unreachable, "queue pair to RTR", code);

  attributes = {};
  attributes.qp_state = IBV_QPS_RTS;
  if (rdma_init_qp_attr(connection_.get(), &attributes, &mask) != 0) {
    return verbs_error(Status::peer_unreachable, "attributes of the queue pair", errno);
  }
  attributes.timeout = kAckTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRetries;
  code = ibv_modify_qp(queue_pair_.get(), &attributes, mask);
  if (code != 0) return verbs_error(Status::peer_unreachable, "queue pair to RTS", code);
  spdlog::info("verbs peer={} device={} port={} gid={} ({} {}) mtu={} inline={}", remote_.text(),
               ibv_get_device_name(connection_->verbs->device), connection_->port_num, gid.index, name_of(gid.kind),
               text_of_gid(gid.gid), bytes_of_mtu(path_mtu), inline_bytes_);
  return {};
}

// The connector's first word.
Result<void> VerbsLink::request_connection() {
  if (auto opened = open_queue_pair(); !opened) return opened;
  const VerbsHello ours = hello(port_mtu());
  rdma_conn_param parameters{};
  parameters.private_data = &ours;
  parameters.private_data_len = sizeof(ours);
  parameters.retry_count = kRetries;
  parameters.rnr_retry_count = kRetries;
  parameters.qp_num = queue_pair_->qp_num;
  if (rdma_connect(connection_.get(), &parameters) == 0) return {};
  return verbs_error(Status::peer_unreachable, "connect " + remote_.text(), errno);
}

// The acceptor's answer; it says which MTU both take.
Result<void> VerbsLink::answer_request(std::span<const std::byte> private_data) {
  const auto theirs = check_hello(private_data);
  if (!theirs) return theirs.error();
  const auto mtu = choose_mtu(port_mtu(), theirs->path_mtu);
  if (!mtu) return mtu.error();
  if (auto opened = open_queue_pair(); !opened) return opened;
  credits_ = {theirs->receives, kReceives};
  if (auto ready = to_ready(*mtu); !ready) return ready;
  const VerbsHello ours = hello(*mtu);
  rdma_conn_param parameters{};
  parameters.private_data = &ours;
  parameters.private_data_len = sizeof(ours);
  parameters.rnr_retry_count = kRetries;
  parameters.qp_num = queue_pair_->qp_num;
  if (rdma_accept(connection_.get(), &parameters) == 0) return {};
  return verbs_error(Status::peer_unreachable, "accept " + remote_.text(), errno);
}

Result<void> VerbsLink::complete_connection(std::span<const std::byte> private_data) {
  const auto theirs = check_hello(private_data);
  if (!theirs) return theirs.error();
  const auto mtu = choose_mtu(port_mtu(), theirs->path_mtu);
  if (!mtu) return mtu.error();
  credits_ = {theirs->receives, kReceives};
  if (auto ready = to_ready(*mtu); !ready) return ready;
  if (rdma_establish(connection_.get()) != 0) {
    return verbs_error(Status::peer_unreachable, "connect " + remote_.text(), errno);
  }
  become_up();
  return {};
}

void VerbsLink::become_up() {
  if (state_ != State::connecting) return;
  state_ = State::up;
  --transport_.unsettled_;
  transport_.mark_dirty(*this);
  observer_->on_up(*this);
}

}  // namespace rde
