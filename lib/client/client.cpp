#include "client/client.h"

namespace rde {
namespace {

constexpr Nanoseconds kSpin = 50 * kMicrosecond;
constexpr Nanoseconds kLook = 10 * kMillisecond;  // how often a spinning side looks at its attach socket
constexpr Nanoseconds kMargin = 200 * kMillisecond;

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
  for (unsigned turn = 0;; ++turn) {
    if (channel.ready()) return Waiter::Outcome::ready;
    cpu_relax();
    if ((turn & 63U) == 63U && now_ns() - start > kSpin) break;
  }
  return waiter_.wait(channel, deadline);
}

Result<Reaped> Client::call(Channel& channel, rde_request request, Nanoseconds deadline, std::vector<Reaped>* others) {
  request.deadline_ns = deadline;
  const auto tag = channel.submit(request);
  if (!tag) return tag.error();
  Nanoseconds looked = now_ns();
  for (;;) {
    Reaped reaped;
    while (channel.reap(reaped)) {
      if (reaped.tag == *tag && reaped.ends) return reaped;
      if (others != nullptr) others->push_back(reaped);
    }
    if (channel.broken())
      return Error{Status::engine_broken, "the engine wrote a completion for nothing that is outstanding"};
    const auto outcome = wait(channel, deadline + kMargin);
    if (outcome == Waiter::Outcome::engine_gone)
      return Error{Status::engine_gone, "the engine closed the attach socket"};
    if (outcome == Waiter::Outcome::timed_out) {
      return Reaped{.tag = *tag, .status = Status::deadline_exceeded, .ends = true, .returns_buffer = false};
    }
    if (now_ns() - looked > kLook) {
      looked = now_ns();
      if (waiter_.engine_gone()) return Error{Status::engine_gone, "the engine closed the attach socket"};
    }
  }
}

}  // namespace rde
