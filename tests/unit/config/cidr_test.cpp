#include "config/cidr.h"

#include <doctest/doctest.h>

using namespace rde;

namespace {

bool holds(const char* range, const char* host) {
  const auto cidr = parse_cidr(range);
  REQUIRE_MESSAGE(cidr, cidr.error().text);
  const auto address = resolve({host, 1});
  REQUIRE(address);
  return cidr->contains(*address);
}

}  // namespace

TEST_CASE("a range holds its own addresses and no others, at the edges") {
  CHECK(holds("10.0.0.0/8", "10.0.0.0"));
  CHECK(holds("10.0.0.0/8", "10.255.255.255"));
  CHECK_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
  CHECK_FALSE(holds("10.0.0.0/8", "9.255.255.255"));
  CHECK(holds("192.0.2.128/25", "192.0.2.128"));
  CHECK_FALSE(holds("192.0.2.128/25", "192.0.2.127"));
  CHECK(holds("192.0.2.6/31", "192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.6/31", "192.0.2.8"));
  CHECK(holds("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(holds("2001:db8::/33", "2001:db8:8000::1"));
}

TEST_CASE("an address alone is a range of one, and no bits hold everything of the family") {
  CHECK(holds("192.0.2.7", "192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.7", "192.0.2.6"));
  CHECK(holds("0.0.0.0/0", "255.255.255.255"));
  CHECK_FALSE(holds("0.0.0.0/0", "2001:db8::1"));
  CHECK(holds("::/0", "2001:db8::1"));
  CHECK(holds("::1", "::1"));
  CHECK_FALSE(holds("::1/128", "::2"));
}

TEST_CASE("an IPv4 address in its IPv6 form is the same address") {
  CHECK(holds("10.0.0.0/8", "::ffff:10.1.2.3"));
  CHECK(holds("::ffff:10.0.0.0/104", "10.1.2.3"));
  CHECK_FALSE(holds("10.0.0.0/8", "::10.1.2.3"));
}

TEST_CASE("bits set behind the prefix do not matter") { CHECK(holds("10.1.2.3/8", "10.200.0.1")); }

TEST_CASE("what is no range is refused and quoted") {
  for (const char* text : {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "10.0.0/8",
                           "host/8", "10.0.0.0/8/8", " 10.0.0.0/8", "10.0.0.0/99999999999999999999"}) {
    CAPTURE(text);
    const auto cidr = parse_cidr(text);
    REQUIRE_FALSE(cidr);
    CHECK(cidr.error().status == Status::invalid_address);
    CHECK(cidr.error().text.find("'" + std::string(text) + "'") != std::string::npos);
  }
}

TEST_CASE("without a list loopback alone is allowed, with one only what it holds") {
  const auto local = resolve({"127.0.0.1", 1});
  const auto remote = resolve({"192.0.2.1", 1});
  CHECK(is_allowed({}, *local));
  CHECK_FALSE(is_allowed({}, *remote));
  const std::vector list{*parse_cidr("198.51.100.0/24"), *parse_cidr("192.0.2.0/24")};
  CHECK(is_allowed(list, *remote));
  CHECK_FALSE(is_allowed(list, *local));
}

TEST_CASE("an address of another family is in no range") {
  SocketAddress nothing;
  CHECK_FALSE(parse_cidr("::/0")->contains(nothing));
}
