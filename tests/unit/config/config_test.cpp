#include "config/config.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/option.h"
#include "version.h"

using namespace rde;

namespace {

Result<CommandLine> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rdma-engine");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

Config good(const std::vector<const char*>& arguments) {
  const auto line = read(arguments);
  REQUIRE_MESSAGE(line, line.error().text);
  CHECK_FALSE(line->show);
  return line->config;
}

std::string refused(const std::vector<const char*>& arguments) {
  const auto line = read(arguments);
  REQUIRE_FALSE(line);
  CHECK(line.error().status == Status::invalid_request);
  return line.error().text;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class File {
 public:
  explicit File(std::string_view text) {
    path_ = (std::filesystem::temp_directory_path() / "rde-config-XXXXXX").string();
    close(mkstemp(path_.data()));
    write(text);
  }
  ~File() { std::filesystem::remove(path_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(std::string_view text) { std::ofstream(path_) << text; }
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

Config from_file(const File& file, std::vector<const char*> arguments = {}) {
  arguments.insert(arguments.begin(), {"--config", file.path()});
  return good(arguments);
}

std::string file_refused(std::string_view text) {
  const File file(text);
  const auto error = refused({"--config", file.path()});
  CHECK(has(error, file.path()));
  return error;
}

}  // namespace

TEST_CASE("without arguments everything has its default") {
  const auto config = good({});
  CHECK(config.socket == "/run/rdma-engine/attach.sock");
  CHECK(config.socket_mode == 0660);
  CHECK(config.segment_size == 64ULL << 20);
  CHECK(config.hugepages == HugepageMode::prefer);
  CHECK(config.transport == TransportChoice::automatic);
  CHECK(config.poll == PollMode::adaptive);
  CHECK(config.log_level == "info");
  CHECK_FALSE(config.listen);
  CHECK_FALSE(config.trusted_network);
}

TEST_CASE("each option sets what it names") {
  const auto config = good({"--socket",
                            "/tmp/a.sock",
                            "--socket-mode",
                            "0600",
                            "--socket-group",
                            "7",
                            "--allow-uid",
                            "1000",
                            "--allow-uid",
                            "1001",
                            "--allow-gid",
                            "50",
                            "--export",
                            "/tmp",
                            "--export",
                            "/",
                            "--listen",
                            "127.0.0.1:0",
                            "--peer",
                            "storage-1:18515",
                            "--peer",
                            "[::1]:5",
                            "--allow-peer",
                            "10.0.0.0/8",
                            "--transport",
                            "tcp",
                            "--device",
                            "eth0",
                            "--psk-file",
                            "/etc/key",
                            "--trusted-network",
                            "--hugepages",
                            "require",
                            "--segment-size",
                            "8MiB",
                            "--max-segment-bytes",
                            "1GiB",
                            "--max-clients",
                            "9",
                            "--buffer-size",
                            "16MiB",
                            "--poll",
                            "spin",
                            "--cores",
                            "0,2-3",
                            "--deadline",
                            "5",
                            "--log-level",
                            "warn",
                            "--metrics",
                            "127.0.0.1:9100"});
  CHECK(config.socket == "/tmp/a.sock");
  CHECK(config.socket_mode == 0600);
  CHECK(config.socket_group == 7);
  CHECK(config.allow_uid == std::set<uid_t>{1000, 1001});
  CHECK(config.allow_gid == std::set<gid_t>{50});
  CHECK(config.exports == std::vector<std::string>{"/tmp", "/"});
  CHECK(config.listen == HostPort{"127.0.0.1", 0});
  CHECK(config.peers == std::vector<HostPort>{{"storage-1", 18515}, {"::1", 5}});
  REQUIRE(config.allow_peer.size() == 1);
  CHECK(config.allow_peer[0].text == "10.0.0.0/8");
  CHECK(config.transport == TransportChoice::tcp);
  CHECK(config.device == "eth0");
  CHECK(config.psk_file == "/etc/key");
  CHECK(config.trusted_network);
  CHECK(config.hugepages == HugepageMode::require);
  CHECK(config.segment_size == 8ULL << 20);
  CHECK(config.max_segment_bytes == 1ULL << 30);
  CHECK(config.max_clients == 9);
  CHECK(config.buffer_size == 16ULL << 20);
  CHECK(config.poll == PollMode::spin);
  CHECK(config.cores == std::vector{0, 2, 3});
  CHECK(config.default_deadline == 5 * kSecond);
  CHECK(config.log_level == "warn");
  CHECK(config.metrics == HostPort{"127.0.0.1", 9100});
}

TEST_CASE("a value that an option does not take is refused with the option, the value and what would do") {
  struct Row {
    const char* option;
    const char* value;
    const char* want;
  };
  for (const auto& row : {
           Row{"--socket", "", "want a path"},
           Row{"--socket-mode", "0999", "octal"},
           Row{"--socket-mode", "01777", "0777"},
           Row{"--socket-mode", "rw", "octal"},
           Row{"--socket-group", "no such group", "/etc/group"},
           Row{"--allow-uid", "alice", "number"},
           Row{"--allow-uid", "-1", "number"},
           Row{"--allow-uid", "4294967295", "4294967294"},
           Row{"--allow-gid", "1.5", "number"},
           Row{"--export", "/no/such/folder", "directory"},
           Row{"--export", "", "directory"},
           Row{"--listen", "", "HOST:PORT"},
           Row{"--listen", "host:x", "HOST:PORT"},
           Row{"--listen", "::1:5", "brackets"},
           Row{"--port", "65536", "65535"},
           Row{"--port", "", "65535"},
           Row{"--peer", "storage-1", "HOST:PORT"},
           Row{"--peer", "storage-1:0", "port"},
           Row{"--allow-peer", "10.0.0.0/40", "BITS"},
           Row{"--transport", "rdma", "auto, verbs, ucx, tcp, sim"},
           Row{"--transport", "TCP", "auto, verbs, ucx, tcp, sim"},
           Row{"--device", "", "want"},
           Row{"--hugepages", "yes", "require, prefer, off"},
           Row{"--segment-size", "1MiB", "at least 2097152"},
           Row{"--segment-size", "much", "64MiB"},
           Row{"--max-segment-bytes", "0", "at least 2097152"},
           Row{"--max-clients", "0", "from 1 to 1000000"},
           Row{"--buffer-size", "3MiB", "at least"},
           Row{"--poll", "busy", "spin, adaptive, event"},
           Row{"--cores", "3-1", "2,4-6"},
           Row{"--deadline", "0", "from 1 to 86400"},
           Row{"--log-level", "loud", "trace, debug, info, warn, error"},
           Row{"--metrics", "9100", "HOST:PORT"},
       }) {
    CAPTURE(row.option);
    CAPTURE(row.value);
    const auto error = refused({row.option, row.value});
    CHECK(has(error, row.option));
    CHECK(has(error, "'" + std::string(row.value) + "'"));
    CHECK(has(error, row.want));
  }
}

TEST_CASE("an option that nobody knows, or without its value, is refused by its name") {
  CHECK(has(refused({"--sokcet", "/tmp/x"}), "--sokcet"));
  CHECK(has(refused({"stray"}), "stray"));
  CHECK(has(refused({"--socket"}), "--socket"));
  CHECK(has(refused({"--sokcet"}), "--help"));
}

TEST_CASE("an option that takes one value is refused when it comes twice") {
  const auto error = refused({"--poll", "spin", "--poll", "event"});
  CHECK(has(error, "--poll"));
  CHECK(has(error, "once"));
}

TEST_CASE("help and version are shown, and are no error") {
  for (const char* option : {"--help", "-h"}) {
    const auto line = read({option});
    REQUIRE(line);
    REQUIRE(line->show);
    for (const auto& each : options()) CHECK(has(*line->show, each.flags.substr(each.flags.find("--"))));
  }
  const auto line = read({"--version"});
  REQUIRE(line);
  REQUIRE(line->show);
  CHECK(*line->show == std::string("rdma-engine ") + kVersion + "\n");
}

TEST_CASE("the port of --listen may stand apart, before or after it, or in the file") {
  CHECK(good({"--export", "/tmp", "--listen", "127.0.0.1"}).listen == HostPort{"127.0.0.1", 18515});
  CHECK(good({"--export", "/tmp", "--listen", "127.0.0.1", "--port", "7"}).listen == HostPort{"127.0.0.1", 7});
  CHECK(good({"--export", "/tmp", "-p", "7", "--listen", "[::1]"}).listen == HostPort{"::1", 7});
  CHECK(good({"--export", "/tmp", "-p", "7", "--listen", "127.0.0.1:8"}).listen == HostPort{"127.0.0.1", 8});
  const File file("[rdma]\nport = 9\n");
  CHECK(from_file(file, {"--export", "/tmp", "--listen", "127.0.0.1"}).listen == HostPort{"127.0.0.1", 9});
}

TEST_CASE("--listen without anything to serve is refused with the option that is missing") {
  CHECK(has(refused({"--listen", "127.0.0.1:0"}), "--export"));
}

TEST_CASE("a segment that all segments together have no room for is refused") {
  const auto error = refused({"--segment-size", "64MiB", "--max-segment-bytes", "32MiB"});
  CHECK(has(error, "--segment-size"));
  CHECK(has(error, "--max-segment-bytes"));
}

TEST_CASE("a file says the same things by the same names") {
  const File file(R"(
socket = "/tmp/b.sock"
socket_mode = "0640"
allow_uid = [1000, 1001]
allow_peer = ["10.0.0.0/8", "::1"]
peer = "storage-1:18515"
transport = "sim"
trusted_network = true
segment_size = "16MiB"
max_clients = 5
debug = false
)");
  const auto config = from_file(file);
  CHECK(config.config_file == file.path());
  CHECK(config.socket == "/tmp/b.sock");
  CHECK(config.socket_mode == 0640);
  CHECK(config.allow_uid == std::set<uid_t>{1000, 1001});
  CHECK(config.allow_peer.size() == 2);
  CHECK(config.peers.size() == 1);
  CHECK(config.transport == TransportChoice::sim);
  CHECK(config.trusted_network);
  CHECK(config.segment_size == 16ULL << 20);
  CHECK(config.max_clients == 5);
  CHECK(config.log_level == "info");
}

TEST_CASE("every option but the command line's own has its key in a file") {
  for (const auto& option : options()) {
    std::string dashed = option.flags.substr(option.flags.find("--") + 2);
    std::ranges::replace(dashed, '-', '_');
    CHECK(option.key == dashed);
  }
}

TEST_CASE("the older file with its tables is understood") {
  const File file(
      "[rdma]\ndevice_name = \"mlx5_0\"\nport = 18516\nbuffer_size = 33554432\n[logging]\nlevel = \"debug\"\n");
  const auto config = from_file(file);
  CHECK(config.device == "mlx5_0");
  CHECK(config.port == 18516);
  CHECK(config.buffer_size == 32ULL << 20);
  CHECK(config.log_level == "debug");
}

TEST_CASE("what the command line says replaces what the file says, lists too") {
  const File file("poll = \"spin\"\nmax_clients = 5\nallow_uid = [1000, 1001]\npeer = [\"a:1\", \"b:2\"]\n");
  const auto config = from_file(file, {"--poll", "event", "--allow-uid", "7"});
  CHECK(config.poll == PollMode::event);
  CHECK(config.max_clients == 5);
  CHECK(config.allow_uid == std::set<uid_t>{7});
  CHECK(config.peers.size() == 2);
}

TEST_CASE("what is wrong in a file is named with the file, the key and the value") {
  CHECK(has(file_refused("poll = \"busy\"\n"), "poll = 'busy'"));
  CHECK(has(file_refused("max_clients = 0\n"), "max_clients = '0'"));
  CHECK(has(file_refused("max_clients = -1\n"), "max_clients = '-1'"));
  CHECK(has(file_refused("deadline = 1.5\n"), "deadline = 'floating-point'"));
  CHECK(has(file_refused("socket = 1979-05-27\n"), "socket = 'date'"));
  CHECK(has(file_refused("peer = [[\"a:1\"]]\n"), "peer = 'array'"));
  CHECK(has(file_refused("peer = [{host = \"a\"}]\n"), "peer = 'table'"));
  CHECK(has(file_refused("poll = [\"spin\", \"event\"]\n"), "once"));
  CHECK(has(file_refused("[rdma]\nport = 99999\n"), "[rdma] port = '99999'"));
}

TEST_CASE("keys and tables that nobody knows are refused with their line") {
  const auto key = file_refused("\n\nsokcet = \"x\"\n");
  CHECK(has(key, "sokcet: no such key"));
  CHECK(has(key, "line 3"));
  CHECK(has(file_refused("[server]\nport = 1\n"), "[server]: no such table"));
  CHECK(has(file_refused("[rdma]\nspeed = 1\n"), "[rdma] speed: no such key"));
  CHECK(has(file_refused("config_file = \"x\"\n"), "config_file: no such key"));
}

TEST_CASE("a file that is no TOML, or cannot be read, is refused with its name") {
  CHECK(has(file_refused("poll = spin\n"), "line 1"));
  CHECK(has(file_refused("poll = \"spin\"\npoll = \"event\"\n"), "line 2"));
  file_refused("\xFF\xFE\x00garbage");
  CHECK(has(refused({"--config", "/no/such/file.toml"}), "/no/such/file.toml"));
  CHECK(has(refused({"--config", "/tmp"}), "/tmp"));
  refused({"--config", ""});
}

TEST_CASE("an empty file changes nothing, and an empty list empties one") {
  const File nothing("");
  CHECK(from_file(nothing).socket == "/run/rdma-engine/attach.sock");
  const File empty("allow_uid = []\n");
  CHECK(from_file(empty).allow_uid.empty());
}

TEST_CASE("reading again takes the file as it is now, and the command line as it was") {
  File file("log_level = \"info\"\nallow_uid = [1]\n");
  const auto running = from_file(file, {"--allow-uid", "7"});
  file.write("log_level = \"debug\"\nallow_uid = [2]\nallow_gid = [3]\n");
  const auto again = read_again(running);
  REQUIRE_MESSAGE(again, again.error().text);
  CHECK(again->log_level == "debug");
  CHECK(again->allow_uid == std::set<uid_t>{7});
  CHECK(again->allow_gid == std::set<gid_t>{3});
  file.write("log_level = \"loud\"\n");
  CHECK_FALSE(read_again(running));
}
