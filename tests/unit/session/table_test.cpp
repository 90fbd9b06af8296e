// Opening, using, closing and losing sessions.
#include <doctest/doctest.h>

#include <string_view>

#include "base/crc32c.h"
#include "session/session_table.h"

using namespace rde;

namespace {

constexpr Nanoseconds kTimeout = 10 * kSecond;

struct Fixture {
  Nanoseconds now = now_ns();
  SessionTable table{{.most = 4, .timeout = kTimeout, .slabs = 3}};
  SessionOwner first = table.add_owner(0, 1000, now);
  SessionOwner second = table.add_owner(1, 1000, now);
  SessionOwner stranger = table.add_owner(0, 1001, now);

  Handle open(const SessionOwner& owner) {
    const auto opened = table.open(owner, 0, 0, now);
    REQUIRE(opened.status == Status::ok);
    return opened.session;
  }
  Status close(Handle session, const SessionOwner& owner, const SessionReport& report = {}) {
    return table.close(session, owner, report, now).status;
  }
  Status use(Handle session, const SessionOwner& owner) { return table.use(session, owner, now).status; }
  void deliver(Handle session, std::string_view text) {
    table.delivered(session, text.size(), crc32c(std::as_bytes(std::span(text))), true);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a session is open until it is closed, and its handle is stale from then on") {
  const auto session = open(first);
  CHECK(table.live() == 1);
  CHECK(use(session, first) == Status::ok);
  CHECK(close(session, first) == Status::ok);
  CHECK(table.live() == 0);
  CHECK(use(session, first) == Status::stale_handle);
  CHECK(close(session, first) == Status::stale_handle);
  const auto again = open(first);
  CHECK(again.index == session.index);
  CHECK(again.generation != session.generation);
  CHECK(close(session, first) == Status::stale_handle);
  CHECK(close(again, first) == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "the cap holds over all slabs, and a closed session makes room") {
  const auto session = open(first);
  for (int i = 0; i < 3; ++i) (void)open(second);
  CHECK(table.open(first, 0, 0, now).status == Status::too_many_sessions);
  CHECK(table.open(second, 0, 0, now).status == Status::too_many_sessions);
  CHECK(table.counts().refused == 2);
  CHECK(close(session, first) == Status::ok);
  CHECK(table.open(second, 0, 0, now).status == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "what never was a session is not found") {
  (void)open(first);
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}, std::uint64_t{1} << 32 | 3,
                                    std::uint64_t{1} << 32 | 4'000}) {
    CHECK(use(Handle::from(value), first) == Status::session_not_found);
    CHECK(close(Handle::from(value), first) == Status::session_not_found);
  }
}

TEST_CASE_FIXTURE(Fixture, "the handle of an owner is no session") {
  const Handle owner{first.record << 2, 1};
  CHECK(use(owner, first) == Status::stale_handle);
  CHECK(close(owner, first) == Status::stale_handle);
}

TEST_CASE_FIXTURE(Fixture, "clients of one user share sessions, those of another do not, and root may all") {
  const auto session = open(first);
  CHECK(use(session, second) == Status::ok);
  CHECK(use(session, stranger) == Status::permission_denied);
  CHECK(close(session, stranger) == Status::permission_denied);
  const auto root = table.add_owner(2, 0, now);
  CHECK(use(session, root) == Status::ok);
  CHECK(close(session, second) == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a session with a peer serves its owner's reads alone") {
  const auto opened = table.open(first, 0, 77, now);
  CHECK(table.use(opened.session, first, now).peer == Handle::from(77));
  CHECK(use(opened.session, second) == Status::permission_denied);
  CHECK(close(opened.session, second) == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "a session expires at its own time, or after the default, and says so") {
  const auto brief = table.open(first, kSecond, 0, now);
  const auto usual = table.open(first, 0, 0, now);
  CHECK(brief.expires == now + kSecond);
  CHECK(usual.expires == now + kTimeout);
  now += kSecond;
  // The wheel has not run.
  CHECK(use(brief.session, first) == Status::session_expired);
  CHECK(close(brief.session, first) == Status::session_expired);
  CHECK(table.live() == 1);
  now += kTimeout;
  while (table.expire(0, now)) {
  }
  CHECK(table.live() == 0);
  CHECK(use(usual.session, first) == Status::session_expired);
  CHECK(table.counts().expired == 2);
}

TEST_CASE_FIXTURE(Fixture, "a time that is too long is refused") {
  CHECK(table.open(first, kLongestSession, 0, now).status == Status::ok);
  CHECK(table.open(first, kLongestSession + 1, 0, now).status == Status::invalid_request);
  CHECK(table.open(first, ~Nanoseconds{0}, 0, now).status == Status::invalid_request);
}

TEST_CASE_FIXTURE(Fixture, "closing compares the client's checksum with that of all that was delivered") {
  const auto session = open(first);
  deliver(session, "1234");
  deliver(session, "56789");
  const auto closed = table.close(session, first, {.success = true, .bytes = 9, .crc = 0xE3069283}, now);
  CHECK(closed.status == Status::ok);
  CHECK(closed.crc == 0xE3069283);
  CHECK(closed.crc_known);
  CHECK(closed.bytes == 9);
  CHECK(table.counts().completed == 1);
  CHECK(table.counts().bytes == 9);
}

TEST_CASE_FIXTURE(Fixture, "a checksum that differs ends the session as failed") {
  const auto session = open(first);
  deliver(session, "123456789");
  const auto closed = table.close(session, first, {.success = true, .bytes = 9, .crc = 1}, now);
  CHECK(closed.status == Status::crc_mismatch);
  CHECK(closed.crc == 0xE3069283);
  CHECK(table.counts().failed == 1);
  CHECK(close(session, first) == Status::stale_handle);
}

TEST_CASE_FIXTURE(Fixture, "where a read was not checked there is nothing to compare with") {
  const auto session = open(first);
  deliver(session, "1234");
  table.delivered(session, 5, 0, false);
  const auto closed = table.close(session, first, {.success = true, .bytes = 9, .crc = 1}, now);
  CHECK(closed.status == Status::ok);
  CHECK_FALSE(closed.crc_known);
}

TEST_CASE_FIXTURE(Fixture, "a client that failed says so, whatever its checksum") {
  const auto session = open(first);
  deliver(session, "1");
  CHECK(close(session, first, {.success = false, .bytes = 0, .crc = 99}) == Status::ok);
  CHECK(table.counts().failed == 1);
  CHECK(table.counts().completed == 0);
}

TEST_CASE_FIXTURE(Fixture, "the sessions of an owner that goes are ended, a bounded number at once; others stay") {
  const auto kept = open(second);
  const auto lost = open(first);
  (void)open(first);
  (void)open(first);
  CHECK(table.has_sessions(first));
  CHECK_FALSE(table.has_sessions(stranger));
  CHECK(table.end_some(first, 2));
  CHECK(table.live() == 2);
  CHECK_FALSE(table.end_some(first, 2));
  CHECK_FALSE(table.has_sessions(first));
  CHECK_FALSE(table.end_some(first, 2));
  CHECK(table.live() == 1);
  CHECK(table.counts().ended == 3);
  CHECK(use(lost, second) == Status::stale_handle);
  CHECK(use(kept, second) == Status::ok);
}

TEST_CASE_FIXTURE(Fixture, "what is delivered after the end is of no effect") {
  const auto session = open(first);
  CHECK(close(session, first) == Status::ok);
  deliver(session, "late");
  CHECK(table.counts().bytes == 0);
}

TEST_CASE("sessions that expire at once, again and again, take no more memory than the cap allows") {
  constexpr std::uint64_t kMany = 1'000'000;
  Nanoseconds now = now_ns();
  SessionTable table({.most = 8, .timeout = kTimeout, .slabs = 1});
  auto owner = table.add_owner(0, 1, now);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    const auto opened = table.open(owner, 1, 0, now);
    if (opened.status != Status::ok) FAIL("session ", i);
    now += 10;
    if (table.close(opened.session, owner, {}, now).status != Status::session_expired) FAIL("session ", i);
  }
  CHECK(table.counts().memory <= (65'536 + 8) * 64 + 65'536);
}

TEST_CASE("a million sessions are live in 64 bytes each, and all expire") {
  constexpr std::uint64_t kMany = 1'000'000;
  const Nanoseconds start = now_ns();
  SessionTable table({.most = kMany, .timeout = kTimeout, .slabs = 2});
  auto owner = table.add_owner(0, 1, start);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    if (table.open(owner, 0, 0, start + i * 10).status != Status::ok) FAIL("session ", i);
  }
  CHECK(table.open(owner, 0, 0, start).status == Status::too_many_sessions);
  CHECK(table.live() == kMany);
  CHECK(table.counts().memory <= kMany * 64 + 65'536);
  const Nanoseconds end = start + kTimeout + kSecond;
  while (table.expire(0, end)) {
  }
  CHECK(table.live() == 0);
  CHECK(table.counts().expired == kMany);
}
