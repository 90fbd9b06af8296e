#include "client/client.h"

#include <sched.h>

namespace rde {
namespace {

constexpr unsigned kPauses = 64;  // before the processor is offered to whoever has to answer us
constexpr Nanoseconds kSpin = 50 * kMicrosecond;
constexpr Nanoseconds kMargin = 200 * kMillisecond;
constexpr Nanoseconds kDefaultTime = 30 * kSecond;

Nanoseconds later(Nanoseconds time, Nanoseconds by) {
  return time > ~Nanoseconds{0} - by ? ~Nanoseconds{0} : time + by;
}

}  // namespace

Client::Client(Attachment attachment)
    : attachment_(std::move(attachment)),
      arena_(attachment_.view.header().arena_size),
      waiter_(attachment_.view, attachment_.wake.get(), attachment_.socket.get()) {
  const auto& view = attachment_.view;
  channels_.reserve(view.header().channel_count);
  for (std::uint32_t i = 0; i < view.header().channel_count; ++i) {
    const auto shard = load_relaxed(&view.channel(i)->shard) % view.header().shard_count;
    channels_.emplace_back(view, i, attachment_.doorbells[shard].get());
  }
}

Result<std::unique_ptr<Client>> Client::attach(const AttachOptions& options) {
  auto attachment = rde::attach(options);
  if (!attachment) return attachment.error();
  return std::unique_ptr<Client>(new Client(std::move(*attachment)));
}

std::optional<Buffer> Client::allocate(std::uint64_t length) {
  const auto page = arena_.allocate(length);
  if (!page) return std::nullopt;
  store_relaxed(&view().client_page()->lent_buffers, arena_.used_blocks());
  return Buffer{*page, view().arena().subspan(std::uint64_t{*page} * RDE_ARENA_PAGE, length)};
}

void Client::release(const Buffer& buffer) {
  arena_.release(buffer.page);
  store_relaxed(&view().client_page()->lent_buffers, arena_.used_blocks());
}

Waiter::Outcome Client::wait(Channel& channel, Nanoseconds deadline) {
  const Nanoseconds start = now_ns();
  store_relaxed(&view().client_page()->heartbeat_ns, start);
  for (unsigned turn = 0;; ++turn) {
    if (channel.ready()) return Waiter::Outcome::ready;
    if (turn < kPauses) {
      cpu_relax();
    } else if (now_ns() - start < kSpin) {
      sched_yield();
    } else {
      return waiter_.wait(channel, deadline);
    }
  }
}

Result<Reaped> Client::call(Channel& channel, rde_request request, Nanoseconds deadline, std::vector<Reaped>* others) {
  if (deadline == 0) deadline = now_ns() + kDefaultTime;
  request.deadline_ns = deadline;
  const auto tag = channel.submit(request);
  if (!tag) return tag.error();
  for (;;) {
    Reaped reaped;
    while (channel.reap(reaped)) {
      if (reaped.tag == *tag && reaped.ends) return reaped;
      if (others != nullptr) others->push_back(reaped);
    }
    if (channel.broken())
      return Error{Status::engine_broken, "the engine wrote a completion for nothing that is outstanding"};
    switch (wait(channel, later(deadline, kMargin))) {
      case Waiter::Outcome::ready:
        break;
      case Waiter::Outcome::engine_gone:
        return Error{Status::engine_gone, "the engine closed the attach socket"};
      case Waiter::Outcome::channel_faulted:
        return Error{Status::ring_broken, "the engine faulted channel " + std::to_string(channel.index())};
      case Waiter::Outcome::timed_out:
        return Reaped{.tag = *tag, .status = Status::deadline_exceeded, .ends = true, .returns_buffer = false};
    }
  }
}

}  // namespace rde
