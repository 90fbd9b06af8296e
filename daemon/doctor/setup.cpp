#include "doctor/setup.h"

#include <cstdio>
#include <filesystem>

#include "attach/listener.h"
#include "base/host_port.h"
#include "peer/psk.h"
#include "prim/socket.h"

namespace rde {
namespace {

namespace fs = std::filesystem;

Finding check_export(const std::string& folder) {
  Finding finding{.check = "export"};
  std::size_t volumes = 0;
  std::size_t unreadable = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().extension() != ".dat") continue;
    ++volumes;
    std::FILE* file = std::fopen(entry.path().c_str(), "re");
    if (file == nullptr) ++unreadable;
    if (file != nullptr) std::fclose(file);
  }
  finding.text = folder + ": " + std::to_string(volumes) + " volumes";
  if (code) {
    finding.severity = Severity::error;
    finding.text = folder + ": " + code.message();
    finding.mend = "run the engine as a user who may read it, or add that user to the group of the volume server";
  } else if (unreadable != 0) {
    finding.severity = Severity::error;
    finding.text += ", " + std::to_string(unreadable) + " of them cannot be read by this user";
    finding.mend = "chgrp and chmod g+r the .dat and .idx files, or run the engine as the volume server's user";
  } else if (volumes == 0) {
    finding.severity = Severity::warning;
    finding.mend = "name the volume server's -dir with --export";
  }
  return finding;
}

}  // namespace

Finding check_socket(const Config& config) {
  Finding finding{.check = "socket"};
  const auto listening = prim::is_listening(config.socket);
  if (listening && *listening) {
    finding.severity = Severity::note;
    finding.text = config.socket + ": an engine serves there now";
    return finding;
  }
  const auto listener =
      AttachListener::open({.path = config.socket, .mode = config.socket_mode, .group = config.socket_group});
  if (!listener) {
    finding.severity = Severity::error;
    finding.text = listener.error().text;
    finding.mend = "mkdir -m 0750 -p " + fs::path(config.socket).parent_path().string() + ", or another --socket";
    return finding;
  }
  finding.text = config.socket + ": can be listened on";
  return finding;
}

Findings check_exports(const Config& config) {
  Findings findings;
  for (const auto& folder : config.exports) findings.push_back(check_export(folder));
  return findings;
}

Finding check_psk(const Config& config) {
  Finding finding{.check = "psk"};
  if (config.psk_file.empty()) {
    finding.severity = Severity::note;
    finding.text = "no --psk-file: only engines on loopback are accepted as peers";
    return finding;
  }
  if (const auto key = read_psk(config.psk_file); !key) {
    finding.severity = Severity::error;
    finding.text = key.error().text;
    finding.mend = "openssl rand -hex 32 >FILE && chmod 0600 FILE, the same on every engine";
    return finding;
  }
  finding.text = config.psk_file + ": good";
  return finding;
}

Finding check_trust(const Config& config) {
  Finding finding{.check = "trust"};
  if (!config.trusted_network) {
    finding.text = "without --trusted-network UCX over TCP keeps to loopback";
    return finding;
  }
  finding.severity = Severity::warning;
  finding.text =
      "--trusted-network: over UCX TCP, every host that reaches this engine's ports can write to any address of it";
  finding.mend = "keep that network to hosts that are trusted like root, by VLAN or firewall; --device names it";
  return finding;
}

Findings check_addresses(const Config& config) {
  Findings findings;
  auto addresses = config.peers;
  if (config.listen) addresses.push_back(*config.listen);
  for (const auto& address : addresses) {
    Finding finding{.check = "address"};
    const auto where = resolve(address);
    finding.text = where ? address.text() + " is " + where->text() : where.error().text;
    if (!where) {
      finding.severity = Severity::error;
      finding.mend = "an address instead of the name, or the name in DNS or /etc/hosts";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rde
