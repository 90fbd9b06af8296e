#include "transport/verbs/verbs_selftest.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/clock.h"
#include "transport/verbs/verbs_limits.h"

namespace rde {
namespace {

constexpr std::size_t kProbe = 10'000;  // more than two of the largest MTU
constexpr Nanoseconds kPatience = 2 * kSecond;

struct Probe {
  ibv_context* context;
  const VerbsPort& port;
  const GidEntry& gid;
  OwnedDomain domain;
  OwnedCompletionQueue queue;
  OwnedRegistration registration;
  std::array<OwnedQueuePair, 2> pairs;
  std::vector<std::byte> bytes = std::vector<std::byte>(2 * kProbe);

  Result<void> open();
  Result<void> join(ibv_qp* pair, const ibv_qp* other) const;
  Result<void> move_bytes();
};

Error said(std::string_view what, int error_number) {
  return verbs_error(Status::context_init_failed, what, error_number);
}

Result<void> Probe::open() {
  domain.reset(ibv_alloc_pd(context));
  if (!domain) return said("protection domain", errno);
  queue.reset(ibv_create_cq(context, 16, nullptr, nullptr, 0));
  if (!queue) return said("completion queue", errno);
  registration.reset(
      ibv_reg_mr(domain.get(), bytes.data(), bytes.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
  if (!registration) return said("memory registration (check ulimit -l)", errno);
  for (auto& pair : pairs) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = queue.get();
    attributes.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    pair.reset(ibv_create_qp(domain.get(), &attributes));
    if (!pair) return said("queue pair", errno);
  }
  if (auto joined = join(pairs[0].get(), pairs[1].get()); !joined) return joined;
  return join(pairs[1].get(), pairs[0].get());
}

Result<void> Probe::join(ibv_qp* pair, const ibv_qp* other) const {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = port.port;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  int code = ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (code != 0) return said("queue pair to INIT", code);
  attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(port.active_mtu);
  attributes.dest_qp_num = other->qp_num;
  attributes.min_rnr_timer = kReceiverNotReadyTimer;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.dlid = port.lid;
  attributes.ah_attr.port_num = port.port;
  attributes.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(gid.index);
  attributes.ah_attr.grh.hop_limit = 64;
  std::copy(gid.gid.begin(), gid.gid.end(), std::begin(attributes.ah_attr.grh.dgid.raw));
  code = ibv_modify_qp(pair, &attributes,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (code != 0) return said("queue pair to RTR with GID " + text_of_gid(gid.gid), code);
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = kAckTimeout;
  attributes.retry_cnt = kRetries;
  attributes.rnr_retry = kRetries;
  code = ibv_modify_qp(
      pair, &attributes,
      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (code != 0) return said("queue pair to RTS", code);
  return {};
}

Result<void> Probe::move_bytes() {
  for (std::size_t i = 0; i < kProbe; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  ibv_recv_wr receive{};
  ibv_recv_wr* bad_receive = nullptr;
  if (const int code = ibv_post_recv(pairs[1].get(), &receive, &bad_receive); code != 0) return said("receive", code);
  ibv_sge part{.addr = reinterpret_cast<std::uintptr_t>(bytes.data()), .length = kProbe, .lkey = registration->lkey};
  ibv_send_wr write{};
  write.sg_list = &part;
  write.num_sge = 1;
  write.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  write.send_flags = IBV_SEND_SIGNALED;
  write.wr.rdma = {.remote_addr = part.addr + kProbe, .rkey = registration->rkey};
  ibv_send_wr* bad_write = nullptr;
  if (const int code = ibv_post_send(pairs[0].get(), &write, &bad_write); code != 0) return said("write", code);
  const Nanoseconds deadline = now_ns() + kPatience;
  for (unsigned completions = 0; completions < 2;) {
    ibv_wc completion{};
    const int count = ibv_poll_cq(queue.get(), 1, &completion);
    if (count < 0) return said("completion queue", EIO);
    if (count == 0 && now_ns() >= deadline) return said("a write to itself", ETIMEDOUT);
    if (count == 0) continue;
    if (completion.status != IBV_WC_SUCCESS) {
      return Error{Status::context_init_failed,
                   std::string("a write to itself: ") + ibv_wc_status_str(completion.status)};
    }
    ++completions;
  }
  if (!std::equal(bytes.begin(), bytes.begin() + kProbe, bytes.begin() + kProbe)) {
    return Error{Status::context_init_failed, "a write to itself: other bytes arrived than were sent"};
  }
  return {};
}

Result<GidEntry> test_port(ibv_context* context, const VerbsPort& port) {
  if (!port.is_active) return Error{Status::device_not_found, "the port is not active"};
  auto gid = choose_gid(port.gids, {});
  if (!gid) return gid;
  Probe probe{.context = context, .port = port, .gid = *gid};
  if (auto opened = probe.open(); !opened) return opened.error();
  if (auto moved = probe.move_bytes(); !moved) return moved.error();
  return gid;
}

}  // namespace

Result<VerbsFinding> find_working_port(const std::string& device) {
  std::string reasons;
  const auto names = device.empty() ? verbs_devices() : std::vector<std::string>{device};
  for (const auto& name : names) {
    const auto context = open_verbs_device(name);
    if (!context) {
      reasons += (reasons.empty() ? "" : "; ") + context.error().text;
      continue;
    }
    for (const VerbsPort& port : ports_of(context->get())) {
      const auto gid = test_port(context->get(), port);
      if (gid) return VerbsFinding{port, *gid};
      reasons += (reasons.empty() ? "" : "; ") + port.text() + ": " + gid.error().text;
    }
  }
  if (names.empty()) reasons = "this host has no RDMA device (rdma link lists them; is the driver loaded?)";
  return Error{Status::device_not_found, reasons};
}

}  // namespace rde
