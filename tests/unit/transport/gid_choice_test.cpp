// Which GID and MTU are chosen, from tables as hosts have them.
#include "transport/verbs/gid_choice.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace rde;

namespace {

GidEntry entry(std::uint32_t index, GidKind kind, const char* text) {
  GidEntry made{.index = index, .kind = kind};
  REQUIRE(::inet_pton(AF_INET6, text, made.gid.data()) == 1);
  return made;
}

constexpr auto kV1 = GidKind::roce_v1;
constexpr auto kV2 = GidKind::roce_v2;
constexpr const char* kLocal = "fe80::1";
constexpr const char* kFour = "::ffff:192.0.2.1";

std::uint32_t chosen(const std::vector<GidEntry>& table) {
  const auto choice = choose_gid(table, {});
  REQUIRE_MESSAGE(choice, choice.error().text);
  return choice->index;
}

}  // namespace

TEST_CASE("RoCE v2 of an IPv4 address is chosen from the usual table") {
  CHECK(chosen({entry(0, kV1, kLocal), entry(1, kV2, kLocal), entry(2, kV1, kFour), entry(3, kV2, kFour)}) == 3);
}

TEST_CASE("what is left is chosen: link-local alone, v1 alone, a unique local address") {
  CHECK(chosen({entry(0, kV1, kLocal), entry(1, kV2, kLocal)}) == 1);
  CHECK(chosen({entry(0, kV1, kLocal)}) == 0);
  CHECK(chosen({entry(0, kV2, kLocal), entry(1, kV2, "fd00::7")}) == 1);
}

TEST_CASE("holes and zero GIDs are passed over") {
  CHECK(chosen({{.index = 0}, entry(1, kV2, "::"), entry(2, kV2, kFour), {.index = 3}}) == 2);
  CHECK(chosen({entry(0, kV2, "fe80::"), entry(1, kV1, kLocal)}) == 1);
}

TEST_CASE("the first of equals is chosen") {
  CHECK(chosen({entry(4, kV2, kFour), entry(5, kV2, kFour), entry(6, kV2, "::ffff:198.51.100.9")}) == 4);
}

TEST_CASE("InfiniBand has the port's own GID first") {
  CHECK(chosen({entry(0, GidKind::infiniband, "fe80::2:c903:0:1"), entry(1, GidKind::infiniband, "fe80::2")}) == 0);
}

TEST_CASE("an address that is wanted is found by v2 first, and named where it is not there") {
  const std::vector<GidEntry> table = {entry(0, kV1, kFour), entry(1, kV2, kFour), entry(2, kV2, "2001:db8::5")};
  CHECK(choose_gid(table, *resolve({"192.0.2.1", 0}))->index == 1);
  CHECK(choose_gid(table, *resolve({"2001:db8::5", 0}))->index == 2);
  const auto missing = choose_gid(table, *resolve({"192.0.2.9", 0}));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().status == Status::device_not_found);
  CHECK(missing.error().text.find("192.0.2.9") != std::string::npos);
  CHECK(missing.error().text.find("2001:db8::5") != std::string::npos);
}

TEST_CASE("a table without a usable GID is listed") {
  const auto nothing = choose_gid(std::vector<GidEntry>{{.index = 0}, entry(1, kV2, "::")}, {});
  REQUIRE_FALSE(nothing);
  CHECK(nothing.error().text.find("0 unreadable, 1 roce_v2 ::") != std::string::npos);
  CHECK(choose_gid({}, {}).error().text.find("none") != std::string::npos);
}

TEST_CASE("the address that a GID was made of is known") {
  CHECK(address_of_gid(entry(0, kV2, kFour).gid)->text() == "192.0.2.1:0");
  CHECK(address_of_gid(entry(0, kV2, "2001:db8::5").gid)->text() == "[2001:db8::5]:0");
  CHECK_FALSE(address_of_gid(entry(0, kV2, kLocal).gid));
  CHECK_FALSE(address_of_gid(entry(0, kV2, "::").gid));
}

TEST_CASE("both sides take the smaller MTU, and a code that is none is refused") {
  for (std::uint8_t ours = 1; ours <= 5; ++ours) {
    for (std::uint8_t theirs = 1; theirs <= 5; ++theirs) CHECK(*choose_mtu(ours, theirs) == std::min(ours, theirs));
  }
  for (const auto wrong : {std::uint8_t{0}, std::uint8_t{6}, std::uint8_t{255}}) {
    CHECK(choose_mtu(wrong, 3).error().status == Status::protocol_error);
    CHECK(choose_mtu(3, wrong).error().status == Status::protocol_error);
  }
  CHECK(bytes_of_mtu(1) == 256);
  CHECK(bytes_of_mtu(5) == 4096);
}
