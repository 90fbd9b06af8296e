#include "base/host_port.h"

#include <doctest/doctest.h>

TEST_CASE("host_port reads names, IPv4 and bracketed IPv6") {
  CHECK(*rde::parse_host_port("127.0.0.1:18515") == rde::HostPort{"127.0.0.1", 18515});
  CHECK(*rde::parse_host_port("storage-7:0") == rde::HostPort{"storage-7", 0});
  CHECK(*rde::parse_host_port("[::1]:65535") == rde::HostPort{"::1", 65535});
  CHECK(rde::HostPort{"::1", 5}.text() == "[::1]:5");
}

TEST_CASE("host_port refuses what is not HOST:PORT and quotes it") {
  for (const char* text : {"", "host", ":1", "host:", "host:65536", "host:-1", "host:1x", "::1:5", "[::1]"}) {
    const auto parsed = rde::parse_host_port(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().status == rde::Status::invalid_address);
    CHECK(parsed.error().text.find("'" + std::string(text) + "'") != std::string::npos);
  }
}

TEST_CASE("a loopback address is known as one in both families") {
  CHECK(rde::resolve({"127.9.9.9", 1})->is_loopback());
  CHECK(rde::resolve({"::1", 1})->is_loopback());
  CHECK(rde::resolve({"::ffff:127.0.0.1", 1})->is_loopback());
  CHECK_FALSE(rde::resolve({"192.0.2.1", 1})->is_loopback());
  CHECK_FALSE(rde::resolve({"2001:db8::1", 1})->is_loopback());
}
