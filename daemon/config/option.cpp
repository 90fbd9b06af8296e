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
  // The older form names a host alone; the port is then --port.
  const bool has_port =
      text.find(':') != std::string::npos && (text.front() != '[' || text.find("]:") != std::string::npos);
  return set_address(config.listen, has_port ? text : text + ":" + std::to_string(config.port));
}

std::string add_peer(Config& config, const std::string& text) {
  auto parsed = parse_host_port(text);
  if (!parsed) return parsed.error().text;
  if (parsed->port == 0) return "port 0 cannot be connected to";
  config.peers.push_back(std::move(*parsed));
  return "";
}

std::string add_range(Config& config, const std::string& text) {
  auto parsed = parse_cidr(text);
  if (!parsed) return parsed.error().text;
  config.allow_peer.push_back(std::move(*parsed));
  return "";
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
  if (found == nullptr) return "no group of this name";
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
  return {
      {"--socket", "socket", "PATH", "attach socket", false, path(&Config::socket)},
      {"--socket-mode", "socket_mode", "MODE", "mode of the attach socket (octal)", false, set_mode},
      {"--socket-group", "socket_group", "GROUP", "group of the attach socket", false, set_group},
      {"--allow-uid", "allow_uid", "UID", "user that may attach, beside root and the engine's own", true,
       [](C c, S s) {
         uid_t id = 0;
         auto bad = set_number(id, s, 0, 0xFFFFFFFE);
         if (bad.empty()) c.allow_uid.insert(id);
         return bad;
       }},
      {"--allow-gid", "allow_gid", "GID", "group whose members may attach (by their primary group)", true,
       [](C c, S s) {
         gid_t id = 0;
         auto bad = set_number(id, s, 0, 0xFFFFFFFE);
         if (bad.empty()) c.allow_gid.insert(id);
         return bad;
       }},
      {"--export", "export", "DIR", "directory of SeaweedFS volumes to serve", true,
       [](C c, S s) {
         std::error_code code;
         if (!std::filesystem::is_directory(s, code)) return std::string("not a directory that can be read");
         c.exports.push_back(s);
         return std::string();
       }},
      {"--listen", "listen", "HOST:PORT", "where other engines connect; port 0 picks one", false, set_listen},
      {"-p,--port", "port", "PORT", "port of --listen where it names none", false,
       [](C c, S s) { return set_number(c.port, s, 0, 65'535); }},
      {"--peer", "peer", "HOST:PORT", "storage engine to stay connected with", true, add_peer},
      {"--allow-peer", "allow_peer", "CIDR",
       "addresses that clients may CONNECT to, and that may connect (default: loopback)", true, add_range},
      {"--transport", "transport", "NAME", "auto, verbs, ucx (UCX over RDMA), tcp (UCX over TCP) or sim", false,
       set_transport},
      {"-d,--device", "device", "NAME", "network or RDMA device; auto picks one", false, path(&Config::device)},
      {"--psk-file", "psk_file", "FILE", "key that engines prove to each other", false, path(&Config::psk_file)},
      {"--trusted-network", "trusted_network", "", "allow UCX over TCP on a network where every host is trusted", false,
       [](C c, S s) { return set_switch(c.trusted_network, s); }},
      {"--hugepages", "hugepages", "MODE", "require, prefer or off", false,
       [](C c, S s) {
         return set_name(
             c.hugepages, s,
             {{"require", HugepageMode::require}, {"prefer", HugepageMode::prefer}, {"off", HugepageMode::off}});
       }},
      {"--segment-size", "segment_size", "SIZE", "segment of a client that asks for no size (64MiB)", false,
       [](C c, S s) { return set_size(c.segment_size, s, RDE_MIN_SEGMENT); }},
      {"--max-segment-bytes", "max_segment_bytes", "SIZE", "all segments together (half of the memory)", false,
       [](C c, S s) { return set_size(c.max_segment_bytes, s, RDE_MIN_SEGMENT); }},
      {"--max-clients", "max_clients", "N", "attached clients at once", false,
       [](C c, S s) { return set_number(c.max_clients, s, 1, 1'000'000); }},
      {"--buffer-size", "buffer_size", "SIZE", "staging memory for serving peers, of each core (64MiB)", false,
       [](C c, S s) { return set_size(c.buffer_size, s, std::uint64_t{4} << 20); }},
      {"--poll", "poll", "MODE", "spin, adaptive or event", false,
       [](C c, S s) {
         return set_name(c.poll, s,
                         {{"spin", PollMode::spin}, {"adaptive", PollMode::adaptive}, {"event", PollMode::event}});
       }},
      {"--cores", "cores", "LIST", "processors to poll on, one shard each, as in 2,4-6", false, set_cores},
      {"--deadline", "deadline", "SECONDS", "of a request that names none (30)", false,
       [](C c, S s) {
         std::uint64_t seconds = 0;
         auto bad = set_number(seconds, s, 1, 86'400);
         if (bad.empty()) c.default_deadline = seconds * kSecond;
         return bad;
       }},
      {"--log-level", "log_level", "LEVEL", "trace, debug, info, warn or error", false, set_level},
      {"--debug", "debug", "", "the same as --log-level debug", false,
       [](C c, S s) {
         bool on = false;
         auto bad = set_switch(on, s);
         if (on) c.log_level = "debug";
         return bad;
       }},
      {"--metrics", "metrics", "HOST:PORT", "Prometheus endpoint", false,
       [](C c, S s) { return set_address(c.metrics, s); }},
  };
}

}  // namespace

std::span<const Option> options() {
  static const std::vector<Option> table = make_options();
  return table;
}

}  // namespace rde
