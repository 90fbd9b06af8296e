// The checks of what the configuration names, and the report.
#include "doctor/setup.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attach/listener.h"
#include "doctor/report.h"
#include "support/temporary_folder.h"

using namespace rde;
using rde::test::TemporaryFolder;

TEST_CASE("a socket path is good, used by an engine, or wrong with the reason") {
  const TemporaryFolder folder;
  Config config;
  config.socket = folder.file("attach.sock");
  CHECK(check_socket(config).severity == Severity::good);
  CHECK_FALSE(std::filesystem::exists(config.socket));
  {
    const auto listener = AttachListener::open({.path = config.socket});
    REQUIRE(listener);
    CHECK(check_socket(config).severity == Severity::note);
  }
  config.socket = folder.file("missing/attach.sock");
  const auto wrong = check_socket(config);
  CHECK(wrong.severity == Severity::error);
  CHECK(wrong.mend.find("mkdir") != std::string::npos);
}

TEST_CASE("an export counts its volumes, and says which user cannot read them" * doctest::skip(getuid() != 0)) {
  const TemporaryFolder folder;
  Config config;
  config.exports = {folder.path()};
  CHECK(check_exports(config).at(0).severity == Severity::warning);
  std::ofstream(folder.file("7.dat")) << "x";
  CHECK(check_exports(config).at(0).severity == Severity::good);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(chmod(folder.file("7.dat").c_str(), 0600) == 0);
  REQUIRE(seteuid(4001) == 0);
  const auto unreadable = check_exports(config).at(0);
  REQUIRE(seteuid(0) == 0);
  CHECK(unreadable.severity == Severity::error);
  CHECK(unreadable.text.find("1 of them cannot be read") != std::string::npos);
}

TEST_CASE("a key file is good, missing or open to others") {
  const TemporaryFolder folder;
  Config config;
  CHECK(check_psk(config).severity == Severity::note);
  config.psk_file = folder.file("key");
  CHECK(check_psk(config).severity == Severity::error);
  std::ofstream(config.psk_file) << std::string(64, 'a');
  REQUIRE(chmod(config.psk_file.c_str(), 0644) == 0);
  CHECK(check_psk(config).severity == Severity::error);
  REQUIRE(chmod(config.psk_file.c_str(), 0600) == 0);
  CHECK(check_psk(config).severity == Severity::good);
}

TEST_CASE("a trusted network is warned of") {
  Config config;
  CHECK(check_trust(config).severity == Severity::good);
  config.trusted_network = true;
  CHECK(check_trust(config).severity == Severity::warning);
}

TEST_CASE("addresses are looked up, each for itself") {
  Config config;
  config.peers = {{"127.0.0.1", 18515}, {"no such name", 18515}};
  const auto findings = check_addresses(config);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].severity == Severity::good);
  CHECK(findings[1].severity == Severity::error);
}

TEST_CASE("a report has every finding, as text and as JSON, and is as bad as the worst") {
  Findings findings{{.check = "one", .severity = Severity::warning, .text = "slow", .mend = "do this"}};
  CHECK(worst({}) == Severity::good);
  CHECK(worst(findings) == Severity::warning);
  CHECK(nlohmann::json::parse(as_json(findings))["ok"] == true);
  findings.push_back({.check = "two", .severity = Severity::error, .text = "\xFF is no UTF-8", .mend = ""});
  const auto report = nlohmann::json::parse(as_json(findings));
  CHECK(report["ok"] == false);
  CHECK(report["findings"][0]["mend"] == "do this");
  CHECK(report["findings"][1]["check"] == "two");
  const auto text = as_text(findings);
  CHECK(text.find("mend: do this") != std::string::npos);
  CHECK(text.find("error    two") != std::string::npos);
}
