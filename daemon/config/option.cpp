#include "config/option.h"

#include <grp.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <vector>

#include "config/units.h"

namespace rde {
namespace {

template <class T>
std::string set_number(T& to, const std::string& text, std::uint64_t least, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most) {
    return "want a number from " + std::to_string(least) + " to " + std::to_string(most);
  }
  to = static_cast<T>(number);
  return "";
}

std::string set_size(std::uint64_t& to, const std::string& text, std::uint64_t least) {
  const auto size = parse_size(text);
  if (!size) return size.error().text;
  if (*size < least) return "want at least " + std::to_string(least) + " bytes";
  to = *size;
  return "";
}

std::string set_address(std::optional<HostPort>& to, const std::string& text) {
  auto parsed = parse_host_port(text);
  if (!parsed) return parsed.error().text;
  to = std::move(*parsed);
  return "";
}

template <class T>
std::string set_name(T& to, const std::string& text, std::initializer_list<std::pair<const char*, T>> names) {
  std::string all;
  for (const auto& [name, value] : names) {
    if (text == name) {
      to = value;
      return "";
    }
    all += (all.empty() ? "" : ", ") + std::string(name);
  }
  return "want one of " + all;
}

std::string set_switch(bool& to, const std::string& text) {
  return set_name(to, text, {{"true", true}, {"false", false}});
}

std::string set_listen(Config& config, const std::string& text) {
  // The older form names a host alone; the port is then --port, which may come later.
  config.listen_names_port =
      text.find(':') != std::string::npos && (text.front() != '[' || text.find("]:") != std::string::npos);
  return set_address(config.listen, config.listen_names_port ? text : text + ":0");
}

std::string add_peer(Config& config, const std::string& text) {
  auto parsed = parse_host_port(text);
  if (!parsed) return parsed.error().text;
  if (parsed->port == 0) return "port 0 cannot be connected to; want the port that the engine listens on";
  config.peers.push_back(std::move(*parsed));
  return "";
}

std::string add_range(Config& config, const std::string& text) {
  auto parsed = parse_cidr(text);
  if (!parsed) return parsed.error().text;
  config.allow_peer.push_back(std::move(*parsed));
  return "";
}

std::string add_export(Config& config, const std::string& text) {
  std::error_code code;
  if (!std::filesystem::is_directory(text, code)) return "not a directory that can be read; make it or mount it first";
  config.exports.push_back(text);
  return "";
}

// Users and groups. The highest number means "none" to the kernel.
std::string add_id(std::set<std::uint32_t>& to, const std::string& text) {
  std::uint32_t id = 0;
  auto bad = set_number(id, text, 0, 0xFFFFFFFE);
  if (bad.empty()) to.insert(id);
  return bad;
}

std::string set_cores(Config& config, const std::string& text) {
  auto parsed = parse_cores(text);
  if (!parsed) return parsed.error().text;
  config.cores = std::move(*parsed);
  return "";
}

std::string set_mode(Config& config, const std::string& text) {
  unsigned mode = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (error != std::errc{} || end != text.data() + text.size() || mode > 0777)
    return "want an octal mode up to 0777, as in 0660";
  config.socket_mode = mode;
  return "";
}

std::string set_group(Config& config, const std::string& text) {
  gid_t number = 0;
  if (set_number(number, text, 0, 0xFFFFFFFE).empty()) {
    config.socket_group = number;
    return "";
  }
  const group* found = getgrnam(text.c_str());
  if (found == nullptr) return "no group of this name; want one of /etc/group, or a number";
  config.socket_group = found->gr_gid;
  return "";
}

std::string set_level(Config& config, const std::string& text) {
  return set_name<std::string>(
      config.log_level, text,
      {{"trace", "trace"}, {"debug", "debug"}, {"info", "info"}, {"warn", "warn"}, {"error", "error"}});
}

std::string set_transport(Config& config, const std::string& text) {
  return set_name(config.transport, text,
                  {{"auto", TransportChoice::automatic},
                   {"verbs", TransportChoice::verbs},
                   {"ucx", TransportChoice::ucx},
                   {"tcp", TransportChoice::tcp},
                   {"sim", TransportChoice::sim}});
}

std::vector<Option> make_options() {
  using C = Config&;
  using S = const std::string&;
  const auto path = [](std::string Config::*member) {
    return [member](C c, S s) { return s.empty() ? std::string("want a path") : (c.*member = s, std::string()); };
  };
  const auto clear = [](auto Config::*member) { return [member](C c) { (c.*member).clear(); }; };
  return {
      {"--socket", "socket", "PATH", "attach socket", path(&Config::socket)},
      {"--socket-mode", "socket_mode", "MODE", "mode of the attach socket (octal)", set_mode},
      {"--socket-group", "socket_group", "GROUP", "group of the attach socket", set_group},
      {"--allow-uid", "allow_uid", "UID", "user that may attach, beside root and the engine's own",
       [](C c, S s) { return add_id(c.allow_uid, s); }, clear(&Config::allow_uid)},
      {"--allow-gid", "allow_gid", "GID", "group whose members may attach (by their primary group)",
       [](C c, S s) { return add_id(c.allow_gid, s); }, clear(&Config::allow_gid)},
      {"--export", "export", "DIR", "directory of SeaweedFS volumes to serve", add_export, clear(&Config::exports)},
      {"--listen", "listen", "HOST:PORT", "where other engines connect; port 0 picks one", set_listen},
      {"-p,--port", "port", "PORT", "port of --listen where it names none",
       [](C c, S s) { return set_number(c.port, s, 0, 65'535); }},
      {"--peer", "peer", "HOST:PORT", "storage engine to stay connected with", add_peer, clear(&Config::peers)},
      {"--allow-peer", "allow_peer", "CIDR",
       "addresses that clients may CONNECT to, and that may connect (default: loopback)", add_range,
       clear(&Config::allow_peer)},
      {"--transport", "transport", "NAME", "auto, verbs, ucx (UCX over RDMA), tcp (UCX over TCP) or sim",
       set_transport},
      {"-d,--device", "device", "NAME", "network or RDMA device; auto picks one", path(&Config::device)},
      {"--psk-file", "psk_file", "FILE", "key that engines prove to each other", path(&Config::psk_file)},
      {"--trusted-network", "trusted_network", "", "allow UCX over TCP on a network where every host is trusted",
       [](C c, S s) { return set_switch(c.trusted_network, s); }},
      {"--hugepages", "hugepages", "MODE", "require, prefer or off",
       [](C c, S s) {
         return set_name(
             c.hugepages, s,
             {{"require", HugepageMode::require}, {"prefer", HugepageMode::prefer}, {"off", HugepageMode::off}});
       }},
      {"--segment-size", "segment_size", "SIZE", "segment of a client that asks for no size (64MiB)",
       [](C c, S s) { return set_size(c.segment_size, s, RDE_MIN_SEGMENT); }},
      {"--max-segment-bytes", "max_segment_bytes", "SIZE",
       "all segments together (half of what staging leaves of the memory)",
       [](C c, S s) { return set_size(c.max_segment_bytes, s, RDE_MIN_SEGMENT); }},
      {"--max-clients", "max_clients", "N", "attached clients at once",
       [](C c, S s) { return set_number(c.max_clients, s, 1, 1'000'000); }},
      {"--buffer-size", "buffer_size", "SIZE", "staging memory for serving peers, of each core (64MiB)",
       [](C c, S s) { return set_size(c.buffer_size, s, std::uint64_t{4} << 20); }},
      {"--poll", "poll", "MODE", "spin, adaptive or event",
       [](C c, S s) {
         return set_name(c.poll, s,
                         {{"spin", PollMode::spin}, {"adaptive", PollMode::adaptive}, {"event", PollMode::event}});
       }},
      {"--cores", "cores", "LIST", "processors to poll on, one shard each, as in 2,4-6", set_cores},
      {"--deadline", "deadline", "SECONDS", "of a request that names none (30)",
       [](C c, S s) {
         std::uint64_t seconds = 0;
         auto bad = set_number(seconds, s, 1, 86'400);
         if (bad.empty()) c.default_deadline = seconds * kSecond;
         return bad;
       }},
      {"--log-level", "log_level", "LEVEL", "trace, debug, info, warn or error", set_level},
      {"--debug", "debug", "", "the same as --log-level debug",
       [](C c, S s) {
         bool on = false;
         auto bad = set_switch(on, s);
         if (on) c.log_level = "debug";
         return bad;
       }},
      {"--metrics", "metrics", "HOST:PORT", "Prometheus endpoint", [](C c, S s) { return set_address(c.metrics, s); }},
  };
}

}  // namespace

std::span<const Option> options() {
  static const std::vector<Option> table = make_options();
  return table;
}

}  // namespace rde
