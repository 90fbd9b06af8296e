#include "control/resolver.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <vector>

using namespace rde;

namespace {

Result<SocketAddress> known(const HostPort& where) { return resolve({"127.0.0.1", where.port}); }

}  // namespace

TEST_CASE("a question is answered on another thread") {
  Resolver resolver(known);
  std::promise<std::string> answer;
  resolver.resolve(1, {"storage-7", 18515}, [&](Result<SocketAddress> found) { answer.set_value(found->text()); });
  CHECK(answer.get_future().get() == "127.0.0.1:18515");
}

TEST_CASE("an error is passed on") {
  Resolver resolver([](const HostPort&) -> Result<SocketAddress> { return Error{Status::invalid_address, "no"}; });
  std::promise<Status> answer;
  resolver.resolve(1, {"x", 1}, [&](const Result<SocketAddress>& found) { answer.set_value(found.error().status); });
  CHECK(answer.get_future().get() == Status::invalid_address);
}

TEST_CASE("questions of one asker are answered in their order") {
  Resolver resolver(known);
  std::promise<void> done;
  std::vector<int> order;  // one at a time, so that no lock is needed
  for (int i = 0; i < 100; ++i) {
    resolver.resolve(1, {"x", 1}, [&, i](const Result<SocketAddress>&) {
      order.push_back(i);
      if (i == 99) done.set_value();
    });
  }
  done.get_future().wait();
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("three askers whose names take long do not hold up a fourth") {
  std::promise<void> release;
  auto released = release.get_future().share();
  std::atomic<int> slow_answers{0};
  {
    Resolver resolver([released](const HostPort& where) {
      if (where.host == "slow") released.wait();
      return known(where);
    });
    for (std::uint64_t asker = 1; asker <= 3; ++asker) {
      for (int i = 0; i < 10; ++i)
        resolver.resolve(asker, {"slow", 1}, [&](const Result<SocketAddress>&) { ++slow_answers; });
    }
    std::promise<void> quick;
    resolver.resolve(4, {"quick", 1}, [&](const Result<SocketAddress>&) { quick.set_value(); });
    quick.get_future().wait();
    CHECK(slow_answers == 0);
  }
  release.set_value();
}

TEST_CASE("a resolver ends although a look-up does not, and answers nothing afterwards") {
  std::promise<void> release;
  auto released = release.get_future().share();
  auto started = std::make_shared<std::promise<void>>();
  bool answered = false;
  {
    Resolver resolver([released, started](const HostPort& where) {
      started->set_value();
      released.wait();
      return known(where);
    });
    resolver.resolve(1, {"slow", 1}, [&](const Result<SocketAddress>&) { answered = true; });
    started->get_future().wait();
  }
  release.set_value();
  CHECK_FALSE(answered);
}

TEST_CASE("addresses are numeric, names are not") {
  for (const char* host : {"127.0.0.1", "::1", "2001:db8::7"}) CHECK(is_numeric(host));
  for (const char* host : {"", "localhost", "127.1", "1.2.3.4.5", "fe80::1%lo", "::g"}) CHECK_FALSE(is_numeric(host));
}
