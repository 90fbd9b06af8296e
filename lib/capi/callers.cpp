#include "capi/callers.h"

#include <chrono>
#include <string>

namespace rde::capi {
namespace {

Error status_error(Status status) {
  return {status, std::string(name_of(status)) + ": " + std::string(meaning_of(status))};
}

}  // namespace

Nanoseconds deadline_after(std::uint64_t timeout_ns) {
  const Nanoseconds now = now_ns();
  const Nanoseconds timeout = timeout_ns == 0 ? kDefaultTimeout : timeout_ns;
  return timeout > ~Nanoseconds{0} - now ? ~Nanoseconds{0} : now + timeout;
}

Callers::Callers(Client& client, Loans& loans, std::uint32_t first) : client_(client), loans_(loans) {
  callers_.resize(client.channel_count() - first);
  for (std::uint32_t i = 0; i < callers_.size(); ++i) {
    callers_[i].channel = &client.channel(first + i);
    free_.push_back(&callers_[i]);
  }
  usable_ = callers_.size();
}

Result<Callers::Caller*> Callers::acquire(Nanoseconds deadline) {
  std::unique_lock lock(mutex_);
  while (free_.empty() && usable_ > 0) {
    const Nanoseconds now = now_ns();
    if (now >= deadline) {
      return Error{Status::ring_full, "all " + std::to_string(usable_) +
                                          " callers were busy until the deadline; attach with more (options.callers)"};
    }
    freed_.wait_for(lock, std::chrono::nanoseconds(std::min<Nanoseconds>(deadline - now, kSecond)));
  }
  if (free_.empty()) return Error{Status::ring_broken, "the engine has shut every channel; close and attach again"};
  Caller* caller = free_.back();
  free_.pop_back();
  return caller;
}

void Callers::give_back(Caller* caller) {
  const std::lock_guard lock(mutex_);
  if (caller->channel->faulted() || caller->channel->broken()) {
    --usable_;
    freed_.notify_all();
  } else {
    free_.push_back(caller);
    freed_.notify_one();
  }
}

void Callers::settle(Caller& caller, const Reaped& reaped) {
  if (!reaped.returns_buffer) return;
  std::erase_if(caller.held, [&](const auto& held) {
    if (held.first != reaped.tag) return false;
    loans_.end(held.second);
    return true;
  });
}

Result<Reaped> Callers::call(std::string_view name, const rde_request& request, std::uint64_t timeout_ns,
                             std::optional<std::uint32_t> page) {
  const Nanoseconds deadline = deadline_after(timeout_ns);
  auto caller = acquire(deadline);
  if (!caller) {
    if (page) loans_.end(*page);
    return caller.error().in(name);
  }
  std::vector<Reaped> others;
  const auto answer = client_.call(*(*caller)->channel, request, deadline, &others);
  for (const auto& other : others) settle(**caller, other);
  if (page) {
    if (answer ? answer->returns_buffer : answer.error().status == Status::ring_full) {
      loans_.end(*page);
    } else if (answer) {
      (*caller)->held.emplace_back(answer->tag, *page);
    }  // else: the engine is gone or broken; what it may still write into stays out of use until rde_close
  }
  give_back(*caller);
  if (!answer) return answer.error().in(name);
  if (answer->status != Status::ok) return status_error(answer->status).in(name);
  if (!answer->returns_buffer) {
    return Error{Status::engine_broken, std::string(name) + ": a good answer whose buffer is not free"};
  }
  return *answer;
}

void Callers::collect() {
  const std::lock_guard lock(mutex_);
  for (Caller* caller : free_) {
    Reaped reaped;
    while (caller->channel->reap(reaped)) settle(*caller, reaped);
  }
}

}  // namespace rde::capi
