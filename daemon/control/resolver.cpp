#include "control/resolver.h"

#include <arpa/inet.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

namespace rde {
namespace {

constexpr unsigned kThreads = 4;

struct Question {
  std::uint64_t asker = 0;
  HostPort where;
  Resolver::Answer answer;
};

}  // namespace

// Outlives the resolver where a look-up is still under way.
struct Resolver::State {
  Lookup lookup;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Question> questions;
  std::set<std::uint64_t> busy;  // askers of look-ups and answers under way
  unsigned threads = 0;
  unsigned idle = 0;
  unsigned answering = 0;
  bool stopped = false;

  // The first question of an asker that has no look-up under way.
  auto next() {
    return std::ranges::find_if(questions, [this](const Question& question) { return !busy.contains(question.asker); });
  }
};

Resolver::Resolver(Lookup lookup) : state_(std::make_shared<State>()) { state_->lookup = std::move(lookup); }

Resolver::~Resolver() {
  std::unique_lock lock(state_->mutex);
  state_->stopped = true;
  state_->questions.clear();
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->answering == 0; });
}

void Resolver::resolve(std::uint64_t asker, HostPort where, Answer answer) {
  const std::lock_guard lock(state_->mutex);
  state_->questions.push_back({asker, std::move(where), std::move(answer)});
  if (state_->questions.size() > state_->idle && state_->threads < kThreads) {
    try {
      // Detached: a name server that does not answer must not hold up the end of the engine.
      std::thread([state = state_] { run(state); }).detach();
      ++state_->threads;
    } catch (const std::system_error&) {
      // No thread left: the question waits for one that is there, or for its asker's deadline.
    }
  }
  state_->changed.notify_all();
}

void Resolver::run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    ++state->idle;
    state->changed.wait(lock, [&] { return state->stopped || state->next() != state->questions.end(); });
    --state->idle;
    if (state->stopped) return;
    const auto chosen = state->next();
    const Question question = std::move(*chosen);
    state->questions.erase(chosen);
    state->busy.insert(question.asker);
    lock.unlock();
    auto found = state->lookup(question.where);
    lock.lock();
    if (state->stopped) return;
    ++state->answering;
    lock.unlock();
    question.answer(std::move(found));
    lock.lock();
    --state->answering;
    state->busy.erase(question.asker);  // not before the answer: the next one would overtake it
    state->changed.notify_all();
  }
}

bool is_numeric(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 || inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace rde
