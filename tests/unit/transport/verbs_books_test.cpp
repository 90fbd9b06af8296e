// The books of a verbs link: credits, and what is in the send queue.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/verbs/send_ledger.h"
#include "transport/verbs/verbs_credits.h"

using namespace rde;

TEST_CASE("frames stop before the credits that are kept back, a frame of credits does not") {
  VerbsCredits credits(8, 8);
  unsigned sent = 0;
  for (; credits.may_send(1); ++sent) credits.take(1);
  CHECK(sent == 8 - kReservedCredits);
  CHECK(credits.may_return());
  credits.take(kReservedCredits);
  CHECK_FALSE(credits.may_return());
}

TEST_CASE("a peer cannot give more credits than it has receives") {
  VerbsCredits credits(8, 8);
  CHECK_FALSE(credits.give(1));
  credits.take(3);
  CHECK_FALSE(credits.give(4));
  CHECK(credits.give(3));
  CHECK(credits.available() == 8);
}

TEST_CASE("credits are worth a frame once half of the receives were posted again") {
  VerbsCredits credits(8, 8);
  credits.owe(3);
  CHECK_FALSE(credits.should_return());
  credits.owe(1);
  CHECK(credits.should_return());
  CHECK(credits.settle() == 4);
  CHECK(credits.settle() == 0);
  CHECK_FALSE(credits.should_return());
}

TEST_CASE("two sides that send as fast as they may never wait for each other for ever") {
  VerbsCredits a(kReceives, kReceives);
  VerbsCredits b(kReceives, kReceives);
  unsigned to_a = 0, to_b = 0;  // receives that are taken but not posted again
  const auto turn = [](VerbsCredits& self, VerbsCredits& other, unsigned& theirs, unsigned& ours) {
    unsigned sent = 0;
    const auto say = [&] {
      self.take(1);
      CHECK(other.give(self.settle()));
      ++theirs;
      ++sent;
    };
    self.owe(std::exchange(ours, 0));
    while (self.may_send(1) && sent < 1000) say();
    if (self.should_return() && self.may_return()) say();
    return sent;
  };
  for (unsigned i = 0; i < 100; ++i) CHECK(turn(a, b, to_b, to_a) + turn(b, a, to_a, to_b) != 0);
}

TEST_CASE("a completion stands for all that was posted before it, in order, also where sequences wrap") {
  SendLedger ledger;
  std::vector<std::uint16_t> ended;
  const auto note = [&](const SendEntry& entry) { ended.push_back(entry.frame); };
  for (std::uint32_t lap = 0; lap < 1000; ++lap) {
    std::uint32_t last = 0;
    for (std::uint16_t i = 0; i < 100; ++i) last = ledger.add({.frame = i});
    CHECK(ledger.room() == kSendDepth - 100);
    CHECK_FALSE(ledger.complete((last + 1) & SendLedger::kSequenceMask, note));
    CHECK(ledger.complete(last, note));
    CHECK_FALSE(ledger.complete(last, note));
    CHECK(ended.size() == 100);
    CHECK(std::ranges::is_sorted(ended));
    ended.clear();
  }
  CHECK(ledger.size() == 0);
}
