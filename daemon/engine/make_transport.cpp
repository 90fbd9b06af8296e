#include "engine/make_transport.h"

#include <net/if.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <mutex>

#ifdef RDE_WITH_UCX
#include "transport/ucx/ucx_runtime.h"
#include "transport/ucx/ucx_transport.h"
#endif
#ifdef RDE_WITH_VERBS
#include "engine/make_verbs.h"
#include "transport/verbs/verbs_wire.h"
#endif

namespace rde {
namespace {

#ifdef RDE_WITH_UCX

void log_ucx(UcxLogLevel level, std::string_view line) {
  constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::err, spdlog::level::warn, spdlog::level::info,
                                                   spdlog::level::debug};
  spdlog::log(kLevels[static_cast<std::size_t>(level)], "ucx: {}", line);
}

// Every interface that traffic of this configuration leaves by.
Result<std::vector<std::string>> devices_of(const Config& config) {
  if (config.device != "auto") return std::vector<std::string>{config.device};
  std::vector<std::string> devices;
  const auto add = [&](const SocketAddress& where) -> Result<void> {
    auto device = interface_for(where);
    if (!device) return device.error();
    if (std::ranges::find(devices, *device) == devices.end()) devices.push_back(std::move(*device));
    return {};
  };
  for (const auto& peer : config.peers) {
    const auto where = resolve(peer);
    const auto added = where ? add(*where) : Result<void>(where.error());
    if (added) continue;
    // The others are served meanwhile, and the connection is tried again and again.
    spdlog::warn("--peer {}: {}; its interface is not known, so name that with --device", peer.text(),
                 added.error().text);
  }
  if (config.listen) {
    const auto where = resolve(*config.listen);
    if (!where) return where.error().in("--listen");
    if (auto added = add(*where); !added) return added.error().in("--listen (name the interface with --device)");
  }
  for (const auto& range : config.allow_peer) {
    // A range that no route leads to costs nothing until a client names a host in it.
    const auto where = resolve({range.text.substr(0, range.text.find('/')), 0});
    if (where) (void)add(*where);
  }
  if (devices.empty()) devices.emplace_back("lo");
  return devices;
}

Result<std::unique_ptr<Transport>> make_tcp(const Config& config) {
  static std::once_flag once;
  std::call_once(once, [] {
    route_ucx_logs(&log_ucx);
    spdlog::info("ucx compiled={} loaded={}", ucx_compiled_version(), ucx_runtime_version());
  });
  UcxOptions options;
  auto devices = devices_of(config);
  if (!devices) return devices.error();
  options.devices = std::move(*devices);
  for (const auto& device : options.devices) {
    if (device == "lo" || ::if_nametoindex(device.c_str()) == 0) continue;  // create() names one that is not there
    if (!config.trusted_network) {
      return Error{Status::invalid_request,
                   "--device " + device +
                       ": UCX over TCP lets whoever reaches its port write to any address of this process. Where "
                       "every host on that network is trusted, say --trusted-network; otherwise keep to loopback"};
    }
    spdlog::warn("UCX over TCP is open to every host that reaches device={}; --trusted-network says that this is meant",
                 device);
  }
  auto transport = UcxTransport::create(options);
  if (!transport) return transport.error();
  return std::unique_ptr<Transport>(std::move(*transport));
}

#else

Result<std::unique_ptr<Transport>> make_tcp(const Config& config) {
  if (config.transport == TransportChoice::automatic && config.peers.empty() && !config.listen)
    return std::unique_ptr<Transport>();
  return Error{Status::not_supported,
               "--transport tcp: this engine was built without UCX; install libucx-dev and build again"};
}

#endif

#ifdef RDE_WITH_VERBS

Result<std::unique_ptr<Transport>> try_verbs(const Config& config) {
  std::string with;
  auto transport = make_verbs(config, with);
  if (transport) spdlog::info("transport verbs: {} passed the self-test", with);
  return transport;
}

#else

Result<std::unique_ptr<Transport>> try_verbs(const Config& /*config*/) {
  return Error{Status::not_supported,
               "this engine was built without verbs; install libibverbs-dev and librdmacm-dev and build again"};
}

#endif

Result<std::unique_ptr<Transport>> make_best(const Config& config) {
  auto verbs = try_verbs(config);
  if (verbs) return verbs;
  spdlog::info("transport tcp, not verbs: {}", verbs.error().text);
  return make_tcp(config);
}

}  // namespace

Result<std::unique_ptr<Transport>> make_transport(const Config& config) {
  switch (config.transport) {
    case TransportChoice::automatic:
      return make_best(config);
    case TransportChoice::tcp:
      return make_tcp(config);
    case TransportChoice::verbs: {
      auto transport = try_verbs(config);
      if (!transport) return transport.error().in("--transport verbs");
      return transport;
    }
    case TransportChoice::ucx:
      return Error{Status::not_supported, "--transport ucx: UCX over RDMA is not offered; use verbs, or tcp"};
    case TransportChoice::sim:
      break;  // has a peer of its own; see sim_peer.h
  }
  return Error{Status::internal, "--transport sim is not made here"};
}

std::string transport_version([[maybe_unused]] std::string_view transport) {
#ifdef RDE_WITH_UCX
  if (transport == "tcp") return ucx_runtime_version();
#endif
#ifdef RDE_WITH_VERBS
  if (transport == "verbs") return "verbs " + std::to_string(kVerbsWireVersion);
#endif
  return "none";
}

}  // namespace rde
