#include <algorithm>
#include <array>

#include "doctor/host.h"

namespace rde {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

bool is_zero_gid(const std::string& gid) { return gid.find_first_not_of("0:") == std::string::npos; }

// How many GIDs of RoCE v2 a port has. A slot that cannot be read is a hole in the table.
std::size_t routable_gids(const fs::path& port) {
  std::size_t count = 0;
  for (const auto& file : entries(port / "gids")) {
    const auto gid = first_line(file);
    const auto type = first_line(port / "gid_attrs/types" / file.filename());
    if (gid && !is_zero_gid(*gid) && type && type->find("v2") != std::string::npos) ++count;
  }
  return count;
}

// Of the network interface below the port, which bounds the path MTU.
std::string mtu_of(const fs::path& root, const fs::path& port) {
  const auto interface = first_line(port / "gid_attrs/ndevs/0");
  const auto mtu = interface ? number_in(root / "sys/class/net" / *interface / "mtu") : std::nullopt;
  return mtu ? ", " + *interface + " with MTU " + std::to_string(*mtu) : std::string();
}

Finding check_port(const fs::path& root, const std::string& device, const fs::path& port) {
  Finding finding{.check = "rdma_port"};
  const auto state = first_line(port / "state").value_or("unknown");
  const auto layer = first_line(port / "link_layer").value_or("unknown");
  const std::size_t gids = routable_gids(port);
  finding.text = device + " port " + port.filename().string() + ": " + state + ", " + layer + ", " +
                 std::to_string(gids) + " RoCE v2 addresses" + mtu_of(root, port);
  if (state.find("ACTIVE") == std::string::npos) {
    finding.severity = Severity::warning;
    finding.mend = "bring its network interface up: ip link set DEV up (rdma link shows which one it is)";
  } else if (layer == "Ethernet" && gids == 0) {
    finding.severity = Severity::warning;
    finding.mend = "give its network interface an address: ip addr add A.B.C.D/N dev DEV";
  }
  return finding;
}

}  // namespace

Finding check_rdma_modules(const fs::path& root) {
  Finding finding{.check = "rdma_modules"};
  constexpr std::array<const char*, 3> kWanted = {"ib_core", "ib_uverbs", "rdma_cm"};
  std::string missing;
  for (const char* module : kWanted) {
    if (!fs::exists(root / "sys/module" / module)) missing += (missing.empty() ? "" : " ") + std::string(module);
  }
  if (missing.empty()) {
    finding.text = "loaded";
    return finding;
  }
  finding.severity = Severity::note;
  finding.text = "not loaded: " + missing + "; needed for RDMA alone";
  finding.mend = "modprobe -a " + missing;
  return finding;
}

Findings check_rdma_devices(const Config& config, const fs::path& root) {
  const bool is_wanted = config.transport == TransportChoice::verbs || config.transport == TransportChoice::ucx;
  const auto devices = entries(root / "sys/class/infiniband");
  if (devices.empty()) {
    return {{.check = "rdma_devices",
             .severity = is_wanted ? Severity::error : Severity::note,
             .text = "no RDMA device; bytes go over TCP",
             .mend = is_wanted
                         ? "--transport tcp, or a card; to try without one: rdma link add rxe0 type rxe netdev DEV"
                         : ""}};
  }
  Findings findings;
  for (const auto& device : devices) {
    for (const auto& port : entries(device / "ports")) findings.push_back(check_port(root, device.filename(), port));
  }
  return findings;
}

}  // namespace rde
