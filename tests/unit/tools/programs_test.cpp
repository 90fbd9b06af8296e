#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/child.h"
#include "common/exit_code.h"
#include "load/objects.h"
#include "test_engine.h"

// The programs as a user starts them. RDE_PROGRAMS names the folder that they lie in; without it there is nothing to
// start.
using namespace rde;
using namespace rde::tools;

namespace {

constexpr Nanoseconds kPatience = 100 * kSecond;

std::unique_ptr<Child> start(const std::string& program, std::vector<std::string> arguments) {
  const char* folder = std::getenv("RDE_PROGRAMS");
  if (folder == nullptr) return nullptr;
  arguments.insert(arguments.begin(), std::string(folder) + "/" + program);
  auto child = Child::start(std::move(arguments), "/dev/null");
  REQUIRE_MESSAGE(child, child.error().text);
  return std::move(*child);
}

// Nothing where there are no programs to try.
std::optional<Child::Ended> run(const std::string& program, std::vector<std::string> arguments) {
  const auto child = start(program, std::move(arguments));
  if (!child) return std::nullopt;
  auto ended = child->wait_for_end(kPatience);
  REQUIRE_MESSAGE(ended, ended.error().text);
  return std::move(*ended);
}

}  // namespace

TEST_CASE("every program exits with 2 where it is used wrongly and with 0 where it is asked for help") {
  for (const char* program : {"ring-dump", "ring-load", "ring-bench", "ring-top"}) {
    CAPTURE(program);
    if (const auto ended = run(program, {"--no-such-flag"})) CHECK(ended->code == kBadUsage);
    if (const auto ended = run(program, {"--help"})) CHECK(ended->code == kGood);
    if (const auto ended = run(program, {"--version"})) CHECK(ended->output.starts_with(program));
  }
  if (const auto ended = run("ring-load", {"--mix", "write"})) CHECK(ended->code == kBadUsage);
  if (const auto ended = run("ring-load", {"--mix", "read"})) CHECK(ended->code == kBadUsage);
  if (const auto ended = run("ring-bench", {"--only", "nothing"})) CHECK(ended->code == kBadUsage);
}

TEST_CASE("every program exits with 3 where there is no engine") {
  if (const auto ended = run("ring-load", {"--socket", "/nonexistent/a.sock"})) CHECK(ended->code == kCouldNotStart);
  if (const auto ended = run("ring-load", {"--socket", "/nonexistent/a.sock", "--processes", "2"})) {
    CHECK(ended->code == kCouldNotStart);
  }
  if (const auto ended = run("ring-dump", {"/nonexistent/a.sock"})) CHECK(ended->code == kCouldNotStart);
  if (const auto ended = run("ring-top", {"/nonexistent/a.sock"})) CHECK(ended->code == kCouldNotStart);
  if (const auto ended = run("ring-bench", {"--only", "nop_rtt_cpp", "--engine", "/nonexistent/rdma-engine"})) {
    CHECK(ended->code == kCouldNotStart);
  }
}

TEST_CASE("processes share a load and their results come together") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  const std::vector<std::byte> bytes(20'000, std::byte{7});
  Sha256 hash;
  hash.add(bytes);
  std::ofstream(folder.file("objects")) << "1,01000000ff 20000 " << hex_of(hash.finish()) << '\n';
  engine.add("1,01000000ff", bytes);
  engine.start();
  const auto ended = run("ring-load", {"--socket", engine.socket(), "--processes", "2", "--producers", "2", "--mix",
                                       "nop=1,read=1", "--objects", folder.file("objects"), "--seconds", "0.3",
                                       "--segment-size", "4MiB", "--depth", "4", "--json"});
  if (!ended) return;
  CHECK(ended->code == kGood);
  const auto json = nlohmann::json::parse(ended->output);
  CHECK(json["ok"] == true);
  CHECK(json["processes"] == 2);
  CHECK(json["objects_verified"].get<std::uint64_t>() > 0);
  CHECK(json["bytes"] == json["bytes_verified"]);
  CHECK(json["ops"]["nop"]["done"].get<std::uint64_t>() + json["ops"]["read"]["done"].get<std::uint64_t>() ==
        json["done"].get<std::uint64_t>());
}

TEST_CASE("a load that is told to stop prints what it has done") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  engine.start();
  for (const char* processes : {"1", "2"}) {
    const auto before = engine.answered();
    const auto child = start("ring-load", {"--socket", engine.socket(), "--seconds", "1000", "--json", "--processes",
                                           processes, "--segment-size", "4MiB"});
    if (!child) return;
    const auto watchdog = now_ns() + kPatience;
    while (engine.answered() < before + 100 && now_ns() < watchdog) sched_yield();
    kill(child->pid(), SIGINT);
    const auto ended = child->wait_for_end(kPatience);
    REQUIRE(ended);
    INFO(ended->output);
    CHECK(ended->code == kGood);
    CHECK(nlohmann::json::parse(ended->output)["done"].get<std::uint64_t>() >= 50);
  }
}

TEST_CASE("a dump of an engine without clients is good and empty") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  engine.start();
  const auto ended = run("ring-dump", {engine.socket(), "--json"});
  if (!ended) return;
  CHECK(ended->code == kGood);
  CHECK(nlohmann::json::parse(ended->output)["segments"].empty());
}

TEST_CASE("ring-top looks as often as it is told and sees who is attached") {
  test::TemporaryFolder folder;
  test::TestEngine engine(folder.file("attach.sock"));
  engine.start();
  const auto load = start("ring-load", {"--socket", engine.socket(), "--seconds", "1000", "--segment-size", "4MiB"});
  if (!load) return;
  const auto watchdog = now_ns() + kPatience;
  while (engine.answered() < 100 && now_ns() < watchdog) sched_yield();
  const auto ended = run("ring-top", {engine.socket(), "--interval", "0.05", "--count", "2", "--json"});
  REQUIRE(ended);
  CHECK(ended->code == kGood);
  const auto first = nlohmann::json::parse(ended->output.substr(0, ended->output.find('\n')));
  REQUIRE(first.size() == 1);
  CHECK(first[0]["pid"] == load->pid());
  CHECK(first[0]["engine"] == "serving");
}

TEST_CASE("a dump of a file that is no segment exits with 1 and says so in JSON too") {
  test::TemporaryFolder folder;
  std::ofstream(folder.file("junk")) << std::string(5'000, 'x');
  const auto ended = run("ring-dump", {folder.file("junk"), "--json"});
  if (!ended) return;
  CHECK(ended->code == kCheckFailed);
  CHECK(nlohmann::json::parse(ended->output)["segments"][0]["error"]["status"] == "segment_not_ready");
}
