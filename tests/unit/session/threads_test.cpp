// Sessions that several threads open, use and close at once.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "session/session_table.h"
#include "support/scale.h"

using namespace rde;

TEST_CASE("threads that open and close at once never pass the cap, and nothing is lost") {
  constexpr std::uint64_t kMost = 7;
  constexpr unsigned kThreads = 4;
  const int rounds = 2'000 * static_cast<int>(test::kScale);
  SessionTable table({.most = kMost, .timeout = kSecond * 100, .slabs = kThreads});
  std::atomic<std::uint64_t> open{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto owner = table.add_owner(i, 5, now_ns());
      for (int round = 0; round < rounds; ++round) {
        std::vector<Handle> mine;
        for (int k = 0; k < 3; ++k) {
          const auto opened = table.open(owner, 0, 0, now_ns());
          if (opened.status != Status::ok) continue;
          if (open.fetch_add(1) >= kMost) over = true;
          mine.push_back(opened.session);
        }
        for (const auto session : mine) {
          open.fetch_sub(1);
          if (table.close(session, owner, {}, now_ns()).status != Status::ok) over = true;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK_FALSE(over);
  CHECK(table.live() == 0);
  const auto counts = table.counts();
  CHECK(counts.created == counts.completed);
  CHECK(counts.created + counts.refused == std::uint64_t{kThreads} * static_cast<unsigned>(rounds) * 3);
}

TEST_CASE("a session of one thread may be used and closed by another while it expires") {
  SessionTable table({.most = 1'000, .timeout = kMillisecond, .slabs = 2});
  const auto owner = table.add_owner(0, 5, now_ns());
  const auto other = table.add_owner(1, 5, now_ns());
  std::atomic<std::uint64_t> latest{0};
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) {
      const auto session = Handle::from(latest.load());
      if (table.use(session, other, now_ns()).status == Status::ok) table.delivered(session, 1, 2, true);
      (void)table.close(session, other, {}, now_ns());
    }
  });
  for (int i = 0; i < 2'000 * static_cast<int>(test::kScale); ++i) {
    const auto opened = table.open(owner, 0, 0, now_ns());
    if (opened.status == Status::ok) latest = opened.session.value();
    (void)table.expire(0, now_ns());
  }
  stop = true;
  user.join();
  const Nanoseconds later = now_ns() + kSecond;
  while (table.expire(0, later)) {
  }
  CHECK(table.live() == 0);
  const auto counts = table.counts();
  CHECK(counts.created == counts.completed + counts.expired);
}
