#include "engine/make_verbs.h"

#include "transport/verbs/verbs_selftest.h"
#include "transport/verbs/verbs_transport.h"

namespace rde {

Result<std::unique_ptr<Transport>> make_verbs(const Config& config, std::string& with) {
  const std::string device = config.device == "auto" ? "" : config.device;
  const auto finding = find_working_port(device);
  if (!finding) return finding.error();
  std::vector<HostPort> addresses = config.peers;
  if (config.listen) addresses.push_back(*config.listen);
  for (const auto& address : addresses) {
    const auto where = resolve(address);
    if (!where) return where.error();
    if (auto passes = passes_device(*where, device); !passes) return passes.error().in(address.text());
  }
  auto transport = VerbsTransport::create({.device = device});
  if (!transport) return transport.error();
  with = finding->port.text() + ", GID " + std::to_string(finding->gid.index) + " " +
         std::string(name_of(finding->gid.kind)) + " " + text_of_gid(finding->gid.gid) + ", MTU " +
         std::to_string(bytes_of_mtu(finding->port.active_mtu));
  return std::unique_ptr<Transport>(std::move(*transport));
}

}  // namespace rde
