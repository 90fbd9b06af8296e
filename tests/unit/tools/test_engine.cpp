#include "test_engine.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/clock.h"
#include "base/crc32c.h"

namespace rde::test {

TemporaryFolder::TemporaryFolder() {
  auto pattern = (std::filesystem::temp_directory_path() / "rde-tools-XXXXXX").string();
  REQUIRE(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TestEngine::add(const std::string& file_id, std::vector<std::byte> bytes) {
  const auto id = parse_file_id(file_id);
  REQUIRE(id);
  objects_[{id->volume, id->key, id->cookie}] = std::move(bytes);
}

void TestEngine::start() {
  auto listener = AttachListener::open({.path = socket_, .mode = 0600, .group = std::nullopt});
  REQUIRE_MESSAGE(listener, listener.error().text);
  listener_.emplace(std::move(*listener));
  stop_ = false;
  thread_ = std::thread([this] { run(); });
}

void TestEngine::stop() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  connections_.clear();
  clients_.clear();
  listener_.reset();
}

std::variant<AttachOffer, Refusal> TestEngine::offer(const rde_attach_hello& hello, const prim::PeerIdentity& who) {
  SegmentOptions options;
  options.plan = {.total_size = hello.segment_size != 0 ? hello.segment_size : RDE_MIN_SEGMENT,
                  .channels = hello.channels != 0 ? hello.channels : 1,
                  .depth = hello.depth != 0 ? hello.depth : 8,
                  .client_number = next_number_++};
  options.hugepages = HugepageMode::off;
  options.epoch = 77;
  options.engine_pid = static_cast<std::uint32_t>(getpid());
  options.client_pid = static_cast<std::uint32_t>(who.pid);
  auto segment = Segment::create(options);
  if (!segment) return Refusal{segment.error().status, "segment_size", segment.error().text};
  auto wake = prim::make_wake_pair();
  auto event = prim::make_event();
  if (!wake || !event) return Refusal{Status::system_error, "", "no descriptors"};
  events_.push_back(std::move(*event));
  return AttachOffer{std::move(*segment), std::move(*wake), {events_.back().get()}, "test"};
}

std::vector<rde_attach_client> TestEngine::list(const prim::PeerIdentity&) {
  std::vector<rde_attach_client> all;
  for (const auto& [number, client] : clients_) {
    auto info = make_message<rde_attach_client>(RDE_ATTACH_TYPE_CLIENT_INFO);
    info.client_number = number;
    info.pid = client.offer.segment->view().header().client_pid;
    put_text(info.name, "test client");
    all.push_back(info);
  }
  return all;
}

std::variant<int, Refusal> TestEngine::monitor(std::uint64_t client_number, const prim::PeerIdentity&) {
  const auto found = clients_.find(client_number);
  if (found == clients_.end()) return Refusal{Status::invalid_request, "target", "no such client"};
  return found->second.offer.segment->file();
}

void TestEngine::attached(AttachOffer offer) {
  const auto& view = offer.segment->view();
  Served client;
  client.ringer = std::make_unique<Ringer>(view.client_doorbell());
  for (std::uint32_t i = 0; i < view.header().channel_count; ++i) {
    client.requests.emplace_back(view.requests(i), view.header().depth);
    client.completions.emplace_back(view.completions(i), view.header().completion_depth);
    store_release(&view.channel(i)->state, std::uint32_t{RDE_CHANNEL_STATE_OPEN});
  }
  store_release(&view.engine_page()->state, std::uint32_t{RDE_ENGINE_STATE_SERVING});
  const auto number = view.header().client_number;
  client.offer = std::move(offer);
  clients_.emplace(number, std::move(client));
}

void TestEngine::run() {
  for (unsigned turn = 0; !stop_; ++turn) {
    bool worked = false;
    if (!deaf) {
      for (auto& [number, client] : clients_) worked |= serve(client);
    }
    if (turn % 64 == 0 || !worked) look_at_sockets();
    if (!worked) sched_yield();
  }
}

void TestEngine::look_at_sockets() {
  for (Descriptor socket = listener_->accept(); socket; socket = listener_->accept()) {
    connections_.push_back(std::make_unique<AttachConnection>(std::move(socket), *this));
  }
  for (std::size_t i = 0; i < connections_.size();) {
    const auto readable = prim::wait_readable(connections_[i]->descriptor(), 0);
    if (readable && *readable && !connections_[i]->on_readable()) {
      clients_.erase(connections_[i]->client_number());
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

bool TestEngine::serve(Served& client) {
  const auto& view = client.offer.segment->view();
  bool worked = false;
  for (std::uint32_t i = 0; i < client.requests.size(); ++i) {
    rde_request request;
    bool answered = false;
    while (client.requests[i].read(request)) {
      if (++answered_ == pause_after) std::this_thread::sleep_for(pause);
      client.completions[i].write(answer(view, request));
      answered = true;
    }
    if (!answered) continue;
    worked = true;
    store_relaxed(&view.channel(i)->requests_taken, client.requests[i].position());
    store_relaxed(&view.channel(i)->completions_posted, client.completions[i].position());
    full_fence();
    if (load_relaxed(&view.channel(i)->completion_cold) != 0 && client.ringer->ring(i)) {
      prim::send_wake(client.offer.wake.ringer.get());
    }
  }
  return worked;
}

rde_completion TestEngine::answer(const SegmentView& view, const rde_request& request) const {
  rde_completion completion{};
  completion.tag = request.tag;
  switch (request.op) {
    case RDE_OP_NOP:
      completion.status = static_cast<std::uint16_t>(nop_status);
      break;
    case RDE_OP_PING:
      completion.value = now_ns();
      completion.bytes = 0;
      completion.crc = crc32c(view.buffer(request.buffer_page, request.length));
      break;
    case RDE_OP_OBJECT_STAT:
    case RDE_OP_OBJECT_READ:
      return answer_object(view, request);
    default:
      completion.status = static_cast<std::uint16_t>(Status::unknown_operation);
  }
  return completion;
}

rde_completion TestEngine::answer_object(const SegmentView& view, const rde_request& request) const {
  rde_completion completion{};
  completion.tag = request.tag;
  rde_object_args args;
  std::memcpy(&args, request.args, sizeof args);
  const auto fail = [&](Status status) {
    completion.status = static_cast<std::uint16_t>(status);
    return completion;
  };
  const auto found = objects_.find({args.volume, args.needle, args.cookie});
  if (found == objects_.end()) return fail(Status::object_not_found);
  const auto& bytes = found->second;
  const auto buffer = view.buffer(request.buffer_page, request.length);
  completion.value = bytes.size();
  if (request.op == RDE_OP_OBJECT_STAT) {
    const rde_object_stat stat{.stored_size = bytes.size(), .volume = args.volume};
    if (buffer.size() < sizeof stat) return fail(Status::buffer_too_small);
    std::memcpy(buffer.data(), &stat, sizeof stat);
    completion.bytes = sizeof stat;
    return completion;
  }
  if (args.offset > bytes.size()) return fail(Status::offset_past_end);
  const auto count = std::min<std::size_t>(buffer.size(), bytes.size() - static_cast<std::size_t>(args.offset));
  std::ranges::copy(std::span(bytes).subspan(args.offset, count), buffer.begin());
  if (corrupt_reads && count > 0) buffer[0] ^= std::byte{1};
  completion.bytes = static_cast<std::uint32_t>(count);
  completion.crc = crc32c(buffer.first(count));
  if (args.offset + count == bytes.size()) completion.flags = RDE_COMPLETION_FLAG_END;
  return completion;
}

}  // namespace rde::test
