// cpu_per_gib and cpu_per_mop: processor time that engines use for what they do, in the default mode. All their threads
// count, of both engines where there are two.
#include <optional>

#include "bench/bench.h"
#include "bench/measures.h"
#include "bench/nops.h"
#include "bench/ring_reads.h"

namespace rde::tools {
namespace {

constexpr std::uint32_t kLength = 1 << 20;
constexpr std::uint32_t kNops = 64;

double seconds(Nanoseconds time) { return static_cast<double>(time) / 1e9; }

class CpuPerGib final : public Measure {
 public:
  explicit CpuPerGib(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    const auto gateway = bench_.gateway_engine();
    const auto storage = bench_.storage_engine();
    if (!gateway || !storage) return gateway ? storage.error() : gateway.error();
    if (!reads_) {
      auto attached = RingReads::attach((*gateway)->socket(), {.length = kLength, .outstanding = 4});
      if (!attached) return attached.error();
      reads_.emplace(std::move(*attached));
    }
    const auto used = [&]() -> Result<Nanoseconds> {
      const auto here = (*gateway)->processor_time(), there = (*storage)->processor_time();
      if (!here || !there) return here ? there.error() : here.error();
      return *here + *there;
    };
    const auto before = used();
    const Nanoseconds start = now_ns();
    const auto pace = reads_->pace(length);
    if (!pace) return pace.error();
    const Nanoseconds took = now_ns() - start;
    const auto after = used();
    if (!before || !after) return before ? after.error() : before.error();
    const double gibibytes = pace->front() * seconds(took) / 1024;
    return Round{.samples = {seconds(*after - *before) / gibibytes}, .reference = {}, .note = {}};
  }

 private:
  Bench& bench_;
  std::optional<RingReads> reads_;
};

class CpuPerMop final : public Measure {
 public:
  explicit CpuPerMop(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    const auto engine = bench_.sleeping_engine();
    if (!engine) return engine.error();
    if (!nops_) {
      auto attached = NopStream::attach((*engine)->socket(), kNops);
      if (!attached) return attached.error();
      nops_.emplace(std::move(*attached));
    }
    const auto before = (*engine)->processor_time();
    const std::uint64_t done = nops_->done();
    if (auto rate = nops_->rate(length); !rate) return rate.error();
    const auto after = (*engine)->processor_time();
    if (!before || !after) return before ? after.error() : before.error();
    const double millions = static_cast<double>(nops_->done() - done) / 1e6;
    return Round{.samples = {seconds(*after - *before) / millions}, .reference = {}, .note = {}};
  }

 private:
  Bench& bench_;
  std::optional<NopStream> nops_;
};

}  // namespace

const MeasureSpec kCpuPerGib{.name = "cpu_per_gib",
                             .unit = "s",
                             .what = "of both engines for each GiB read in pieces of 1 MiB over TCP",
                             .better = Better::lower,
                             .aim = {},
                             .make = [](Bench& bench) { return std::make_unique<CpuPerGib>(bench); }};
const MeasureSpec kCpuPerMop{.name = "cpu_per_mop",
                             .unit = "s",
                             .what = "of the engine for each million NOPs, 64 outstanding",
                             .better = Better::lower,
                             .aim = {},
                             .make = [](Bench& bench) { return std::make_unique<CpuPerMop>(bench); }};

}  // namespace rde::tools
