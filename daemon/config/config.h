// Everything that an operator can set; from the command line and from a TOML file, by the same names.
//
//   auto line = read_command_line(argc, argv);
//   if (!line) return usage(line.error().text);
//   if (line->show) return print(*line->show);
//   Engine engine(line->config);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/host_port.h"
#include "base/status.h"
#include "config/cidr.h"
#include "segment/segment.h"
#include "shard/shard_options.h"

namespace rde {

enum class TransportChoice { automatic, verbs, ucx, tcp, sim };

struct Config {
  std::string socket = "/run/rdma-engine/attach.sock";
  mode_t socket_mode = 0660;
  std::optional<gid_t> socket_group;
  std::set<uid_t> allow_uid;
  std::set<gid_t> allow_gid;

  std::vector<std::string> exports;
  std::optional<HostPort> listen;
  bool listen_names_port = true;  // false: it is `port`
  std::uint16_t port = 18515;
  std::vector<HostPort> peers;
  std::vector<Cidr> allow_peer;
  TransportChoice transport = TransportChoice::automatic;
  std::string device = "auto";
  std::string psk_file;
  bool trusted_network = false;

  HugepageMode hugepages = HugepageMode::prefer;
  std::uint64_t segment_size = RDE_DEFAULT_SEGMENT;
  std::uint64_t max_segment_bytes = 0;  // 0: half of the memory that this process may use
  std::uint32_t max_clients = 4096;
  std::uint64_t buffer_size = std::uint64_t{64} << 20;  // staging memory of a shard that serves peers

  PollMode poll = PollMode::adaptive;
  std::vector<int> cores;  // one shard each; empty: one shard, anywhere
  Nanoseconds default_deadline = 30 * kSecond;

  std::string log_level = "info";
  std::optional<HostPort> metrics;
  std::string config_file;
  std::vector<std::string> arguments;  // the command line, for read_again()
};

// What the command line asks for. `show` is a text to print before a good exit (help, version).
struct CommandLine {
  Config config;
  bool doctor = false;  // examine this host for the configuration instead of serving
  bool json = false;    // and say it as JSON
  std::optional<std::string> show;
};

// Reads the file that --config names, then the command line over it: an option that is given there replaces what the
// file says, lists too. Errors (invalid_request) name the option or key, its value, and what would be right.
Result<CommandLine> read_command_line(int argc, const char* const* argv);

// The same again, for a reload: the file may have changed, the command line has not.
Result<Config> read_again(const Config& running);

// Reads the file alone. Starts from the defaults.
Result<Config> read_config_file(const std::string& path);

}  // namespace rde
