#include "bench/read/requester.h"

#include <deque>

#include "engine/engine_io.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kConnect = 20 * kSecond;
constexpr Nanoseconds kDeadline = 20 * kSecond;
constexpr std::uint64_t kBuffers = std::uint64_t{64} << 20;
constexpr std::uint32_t kProbe = 4096;
constexpr Nanoseconds kSeldom = 5 * kMillisecond;

double microseconds(Nanoseconds time) { return static_cast<double>(time) / 1e3; }

}  // namespace

class Requester::Job final : public ObjectJob {
 public:
  explicit Job(std::span<std::byte> buffer) : buffer_(buffer) {}

  void begin(const ReadPlan& plan, std::uint64_t from, bool in_bulk) {
    kind = Kind::read;
    id = plan.object;
    skip_crc = plan.skip_crc;
    bulk = in_bulk;
    offset = from;
    destination = buffer_.first(plan.length);
    status = Status::ok;
    flags = 0;
    bytes = crc = etag = 0;
    object_size = 0;
    started_ = now_ns();
    deadline = started_ + kDeadline;
    is_done = false;
  }
  void on_done() override {
    is_done = true;
    took = now_ns() - started_;
  }
  // Nothing where it was read whole.
  [[nodiscard]] std::optional<Error> failure() const {
    if (status != Status::ok) return Error{status, "it answered " + std::string(name_of(status))};
    if (bytes != destination.size()) return Error{Status::operation_failed, "a read was short"};
    return std::nullopt;
  }

  bool is_done = true;
  Nanoseconds took = 0;

 private:
  std::span<std::byte> buffer_;
  Nanoseconds started_ = 0;
};

Requester::~Requester() {
  if (io_ && buffers_) io_->remove_arena(buffers_->bytes(), memory_);
}

Result<std::unique_ptr<Requester>> Requester::open(const Config& config, std::uint32_t volume) {
  std::unique_ptr<Requester> requester(new Requester(config));
  if (auto started = requester->start(volume); !started) return started.error();
  return requester;
}

Result<void> Requester::start(std::uint32_t volume) {
  auto volumes = VolumeStore::open({});
  if (!volumes) return volumes.error();
  volumes_ = std::move(*volumes);
  auto buffers = Staging::allocate(kBuffers, config_.hugepages);
  if (!buffers) return buffers.error();
  buffers_ = std::make_unique<Staging>(std::move(*buffers));
  // Each life of an engine has a number of its own; this one is no engine, and needs only another than the peer's.
  auto io = engine_io_factory({.config = &config_, .volumes = volumes_.get(), .epoch = now_ns()})();
  if (!io) return io.error();
  io_ = std::move(*io);
  auto memory = io_->add_arena(buffers_->bytes());
  if (!memory) return memory.error();
  memory_ = *memory;
  for (const Nanoseconds until = now_ns() + kConnect; now_ns() < until;) {
    io_->progress(now_ns());
    if (const auto peer = io_->route(volume); peer && !peer->is_null()) {
      peer_ = *peer;
      return {};
    }
  }
  return Error{Status::peer_unreachable, "no peer serves volume " + std::to_string(volume)};
}

void Requester::submit(Job& job, const ReadPlan& plan, std::uint64_t offset, bool bulk) {
  job.begin(plan, offset, bulk);
  io_->submit(peer_, job, memory_);
}

Result<void> Requester::wait_for(const std::vector<Job*>& jobs) {
  // All of them first: none may go while its buffer is the transport's.
  for (const Job* job : jobs) {
    while (!job->is_done) io_->progress(now_ns());
  }
  for (const Job* job : jobs) {
    if (auto failure = job->failure()) return *failure;
  }
  return {};
}

Result<std::vector<double>> Requester::latencies(const ReadPlan& plan, Nanoseconds time) {
  std::vector<double> samples;
  Job job(buffers_->bytes().first(plan.length));
  std::uint64_t offset = 0;
  for (const Nanoseconds end = now_ns() + time; now_ns() < end;) {
    submit(job, plan, offset, false);
    if (auto done = wait_for({&job}); !done) return done.error();
    samples.push_back(microseconds(job.took));
    offset = (offset + plan.length) % (plan.object_size - plan.length + 1);
  }
  return samples;
}

Result<Requester::Pace> Requester::stream(const ReadPlan& plan, Nanoseconds time, Probe probe) {
  Pace pace;
  std::deque<Job> jobs;
  std::vector<Job*> all;
  for (std::uint32_t i = 0; i < plan.outstanding; ++i) {
    all.push_back(&jobs.emplace_back(buffers_->bytes().subspan(std::uint64_t{i} * plan.length, plan.length)));
  }
  Job small(buffers_->bytes().last(kProbe));
  if (probe != Probe::none) all.push_back(&small);
  const Nanoseconds pause = probe == Probe::seldom ? kSeldom : 0;
  Nanoseconds probe_at = 0;
  ReadPlan probe_plan = plan;
  probe_plan.length = kProbe;
  std::uint64_t offset = 0, bytes = 0;
  const Nanoseconds start = now_ns(), end = start + time;
  Nanoseconds now = start;
  bool failed = false;  // wait_for() tells why
  // One read at least: a pace of nothing tells nothing. Each has a deadline of the engine's own.
  for (; (now < end || bytes == 0) && !failed; now = now_ns()) {
    io_->progress(now);
    for (auto& job : jobs) {
      if (!job.is_done || (failed = failed || job.failure())) continue;
      if (job.took != 0) bytes += plan.length;
      submit(job, plan, offset, true);
      offset = offset + 2 * std::uint64_t{plan.length} <= plan.object_size ? offset + plan.length : 0;
    }
    if (probe == Probe::none || now < probe_at || !small.is_done || (failed = failed || small.failure())) continue;
    if (small.took != 0) pace.probe.push_back(microseconds(small.took));
    submit(small, probe_plan, offset, false);
    probe_at = now + pause;
  }
  pace.stream.push_back(static_cast<double>(bytes) / (1 << 20) * 1e9 / static_cast<double>(now - start));
  if (auto ended = wait_for(all); !ended) return ended.error();
  return pace;
}

}  // namespace rde::tools
