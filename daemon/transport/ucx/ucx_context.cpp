#include "transport/ucx/ucx_context.h"

#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "transport/ucx/ucx_runtime.h"

namespace rde {
namespace {

// Measured: 64 KiB in one eager frame takes 30 µs instead of 52. One rail, or UCX stripes messages over
// every interface. PROTO_ENABLE=y of the environment would abort 1.13.
constexpr std::array<std::pair<const char*, const char*>, 6> kSettings = {{
    {"TLS", "tcp,self"},
    {"TX_SEG_SIZE", "64K"},
    {"RX_SEG_SIZE", "256K"},
    {"MAX_EAGER_RAILS", "1"},
    {"MAX_RNDV_RAILS", "1"},
    {"PROTO_ENABLE", "n"},
}};

bool same_host(const sockaddr* a, const sockaddr* b) {
  if (a == nullptr || a->sa_family != b->sa_family) return false;
  if (a->sa_family == AF_INET) {
    return std::memcmp(&reinterpret_cast<const sockaddr_in*>(a)->sin_addr,
                       &reinterpret_cast<const sockaddr_in*>(b)->sin_addr, sizeof(in_addr)) == 0;
  }
  return a->sa_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(b)->sin6_addr, sizeof(in6_addr)) == 0;
}

bool is_wildcard(const SocketAddress& where) {
  if (where.storage.ss_family == AF_INET6) {
    return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(where.storage).sin6_addr);
  }
  return reinterpret_cast<const sockaddr_in&>(where.storage).sin_addr.s_addr == INADDR_ANY;
}

// The local address that the kernel would use towards `where`; nothing is sent.
Result<SocketAddress> local_address(SocketAddress where) {
  // Any port will do, but 0 does not.
  if (where.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(where.storage).sin6_port = htons(9);
  } else {
    reinterpret_cast<sockaddr_in&>(where.storage).sin_port = htons(9);
  }
  const Descriptor socket(::socket(where.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress local;
  local.length = sizeof(local.storage);
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&where.storage), where.length) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local.storage), &local.length) != 0) {
    auto error = system_error("no route to " + where.text(), errno);
    error.status = Status::invalid_address;
    return error;
  }
  return local;
}

}  // namespace

Result<std::string> interface_for(const SocketAddress& where) {
  if (is_wildcard(where)) {
    return Error{Status::invalid_address,
                 "address " + where.text() + " belongs to no interface; name the address of one, or the device"};
  }
  const auto local = local_address(where);
  if (!local) return local.error();
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return system_error("list of network interfaces", errno);
  std::string name;
  for (const auto* entry = list; entry != nullptr && name.empty(); entry = entry->ifa_next) {
    if (same_host(entry->ifa_addr, reinterpret_cast<const sockaddr*>(&local->storage))) name = entry->ifa_name;
  }
  // 127.0.0.0/8 is local as a whole, though the interface has one address of it only.
  if (name.empty() && local->is_loopback()) {
    for (const auto* entry = list; entry != nullptr && name.empty(); entry = entry->ifa_next) {
      SocketAddress loopback;
      reinterpret_cast<sockaddr_in&>(loopback.storage) = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
      if (same_host(entry->ifa_addr, reinterpret_cast<const sockaddr*>(&loopback.storage))) name = entry->ifa_name;
    }
  }
  ::freeifaddrs(list);
  if (name.empty()) {
    return Error{Status::invalid_address, "address " + where.text() + ": no interface has " + local->text()};
  }
  return name.substr(0, name.find(':'));  // an alias is a label of its interface
}

Error ucx_error(Status status, std::string_view what, ucs_status_t code) {
  return {status, std::string(what) + ": UCX says \"" + ucs_status_string(code) + "\""};
}

void mark_descriptors_close_on_exec() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name(entry->d_name);
    int fd = -1;
    if (std::from_chars(name.data(), name.data() + name.size(), fd).ec != std::errc{} || fd <= STDERR_FILENO) continue;
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) ::fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
  ::closedir(directory);
}

Result<std::unique_ptr<UcxContext>> UcxContext::open(const UcxOptions& options) {
  route_ucx_logs(nullptr);
  std::unique_ptr<UcxContext> context(new UcxContext);
  if (auto opened = context->open_context(options); !opened) return opened.error();
  if (auto opened = context->open_worker(); !opened) return opened.error();
  mark_descriptors_close_on_exec();
  return context;
}

Result<void> UcxContext::open_context(const UcxOptions& options) {
  ucp_config_t* config = nullptr;
  ucs_status_t code = ucp_config_read(nullptr, nullptr, &config);
  if (code != UCS_OK) return ucx_error(Status::context_init_failed, "configuration (check the UCX_… variables)", code);
  std::string devices;
  for (const auto& device : options.devices) {
    // UCX only warns, and is left with its loopback to itself.
    if (::if_nametoindex(device.c_str()) == 0) {
      const int error_number = errno;
      ucp_config_release(config);
      if (error_number != ENODEV) return system_error("look up the interface '" + device + "'", error_number);
      return Error{Status::device_not_found,
                   "--device '" + device + "' is no network interface of this host (ip link lists them)"};
    }
    devices += (devices.empty() ? "" : ",") + device;
  }
  code = ucp_config_modify(config, "NET_DEVICES", devices.empty() ? "all" : devices.c_str());
  for (const auto& [name, value] : kSettings) {
    if (code == UCS_OK) code = ucp_config_modify(config, name, value);
  }
  if (code == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    params.mt_workers_shared = 0;
    params.name = "rdma-engine";
    code = ucp_init(&params, config, &context_);
  }
  ucp_config_release(config);
  if (code == UCS_OK) return {};
  return ucx_error(code == UCS_ERR_NO_DEVICE ? Status::device_not_found : Status::context_init_failed,
                   "TCP over device '" + (devices.empty() ? "all" : devices) + "'", code);
}

Result<void> UcxContext::open_worker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucs_status_t code = ucp_worker_create(context_, &params, &worker_);
  if (code != UCS_OK) return ucx_error(Status::context_init_failed, "worker", code);
  code = ucp_worker_get_efd(worker_, &event_descriptor_);
  if (code != UCS_OK) return ucx_error(Status::context_init_failed, "event descriptor of the worker", code);
  return {};
}

UcxContext::~UcxContext() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace rde
