#include "engine/make_verbs.h"

#include <spdlog/spdlog.h>

#include "transport/verbs/verbs_selftest.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

Result<std::unique_ptr<Transport>> make_verbs(const Config& config, std::string& with) {
  const std::string device = config.device == "auto" ? "" : config.device;
  const auto finding = find_working_port(device);
  if (!finding) return finding.error();
  for (const auto& peer : config.peers) {
    const auto where = resolve(peer);
    if (!where) {
      // The others are served meanwhile, and the connection is tried again and again.
      spdlog::warn("--peer {}: {}; whether an RDMA device leads to it is not known", peer.text(), where.error().text);
      continue;
    }
    if (auto passes = passes_device(*where, device); !passes) return passes.error().in(peer.text());
  }
  if (config.listen) {
    const auto where = resolve(*config.listen);
    if (!where) return where.error();
    if (auto passes = passes_device(*where, device); !passes) return passes.error().in(config.listen->text());
  }
  auto transport = VerbsTransport::create({.device = device});
  if (!transport) return transport.error();
  with = finding->port.text() + ", GID " + std::to_string(finding->gid.index) + " " +
         std::string(name_of(finding->gid.kind)) + " " + text_of_gid(finding->gid.gid) + ", MTU " +
         std::to_string(bytes_of_mtu(finding->port.active_mtu));
  return std::unique_ptr<Transport>(std::move(*transport));
}

}  // namespace rde
