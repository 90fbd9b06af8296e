#include "rig.h"

#include <doctest/doctest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstring>

#include "prim/socket.h"

namespace rde::test {

Rig::Rig(const RigOptions& options) : resolver_(options.lookup) {
  spdlog::set_level(spdlog::level::off);
  ShardOptions shard;
  shard.mode = options.mode;
  shard.crowded = options.crowded;
  shard.cpu = options.cpu;
  shard.default_deadline = options.default_deadline;
  shard.max_operations = options.max_operations;
  shard.max_quarantined_bytes = options.max_quarantined_bytes;
  const auto make_io = [this]() -> Result<std::unique_ptr<ShardIo>> {
    auto io = std::make_unique<FakeIo>(counts_);
    io_ = io.get();
    return std::unique_ptr<ShardIo>(std::move(io));
  };
  shards_.push_back(std::make_unique<Shard>(shard, make_io, resolver_));
  const auto started = shards_[0]->start();
  REQUIRE_MESSAGE(started, started.error().text);

  Config config;
  config.socket = socket();
  config.socket_mode = 0666;
  config.segment_size = RDE_MIN_SEGMENT;
  config.hugepages = HugepageMode::off;
  if (options.configure) options.configure(config);
  auto loop = EventLoop::make();
  REQUIRE(loop);
  loop_.emplace(std::move(*loop));
  attach_ = std::make_unique<AttachService>(config, 77, *loop_, shards_);
  const auto listening = attach_->start();
  REQUIRE_MESSAGE(listening, listening.error().text);
  auto event = prim::make_event();
  REQUIRE(event);
  event_ = std::move(*event);
  control_ = std::thread([this] { control(); });
}

Rig::~Rig() {
  stopped_ = true;
  prim::ring_event(event_.get());
  control_.join();
  attach_->refuse_new();
  shards_[0]->stop(kSecond);
  attach_.reset();
}

void Rig::control() {
  (void)loop_->add(event_.get(), [this] {
    std::uint64_t count = 0;
    (void)!read(event_.get(), &count, sizeof count);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (auto& task : tasks) task();
  });
  while (!stopped_) {
    loop_->run_once(200);
    attach_->tick();
  }
}

void Rig::on_control(const std::function<void(AttachService&)>& task) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back([&] {
      task(*attach_);
      done.set_value();
    });
  }
  prim::ring_event(event_.get());
  done.get_future().wait();
}

void Rig::on_shard(const std::function<void(Shard&, FakeIo&)>& task) {
  std::promise<void> done;
  shards_[0]->post([&](Shard& shard) {
    task(shard, *io_);
    done.set_value();
  });
  done.get_future().wait();
}

void Rig::on_shard(const std::function<void(FakeIo&)>& task) {
  on_shard([&](Shard&, FakeIo& io) { task(io); });
}

std::thread Rig::stop_shard_elsewhere(Nanoseconds bound) {
  return std::thread([this, bound] { shards_[0]->stop(bound); });
}

Result<std::unique_ptr<Client>> Rig::try_attach(AttachOptions options) {
  options.socket = socket();
  return Client::attach(options);
}

std::unique_ptr<Client> Rig::attach(AttachOptions options) {
  auto client = try_attach(std::move(options));
  REQUIRE_MESSAGE(client, client.error().text);
  return std::move(*client);
}

bool eventually(const std::function<bool()>& condition) {
  const Nanoseconds end = now_ns() + kPatience;
  while (!condition()) {
    if (now_ns() > end) return false;
    usleep(500);
  }
  return true;
}

rde_request nop_request() {
  rde_request request{};
  request.op = RDE_OP_NOP;
  return request;
}

rde_request read_request(std::uint64_t needle, const Buffer& buffer, std::uint64_t handle) {
  rde_request request{};
  request.op = RDE_OP_OBJECT_READ;
  request.handle = handle;
  request.buffer_page = buffer.page;
  request.length = static_cast<std::uint32_t>(buffer.bytes.size());
  rde_object_args args{};
  args.volume = 3;
  args.needle = needle;
  std::memcpy(request.args, &args, sizeof args);
  return request;
}

Reaped next_completion(Client& client, Channel& channel) {
  Reaped reaped;
  const Nanoseconds end = now_ns() + kPatience;
  while (!channel.reap(reaped)) {
    if (channel.broken() || now_ns() > end || client.wait(channel, end) != Waiter::Outcome::ready)
      return {.status = Status::internal};
  }
  return reaped;
}

Reaped next_completion(Client& client) { return next_completion(client, client.channel(0)); }

namespace {

std::size_t count_descriptors(std::string_view target) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code code;
    const auto link = std::filesystem::read_symlink(entry.path(), code).string();
    if (!code && link.find(target) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace

std::size_t open_descriptors() { return count_descriptors(""); }
std::size_t memory_files() { return count_descriptors("memfd:rde-segment"); }

}  // namespace rde::test
