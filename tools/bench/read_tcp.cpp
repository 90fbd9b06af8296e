// read_SIZE_tcp: OBJECT_READ from a storage engine over UCX TCP against ucx_perftest. The requester stands where a
// gateway engine's shard does; read_SIZE_ring asks that engine through a ring, with three processes.
#include "bench/measures.h"
#include "bench/ring_reads.h"
#include "bench/sampler.h"
#include "bench/ucx_perftest.h"
#include "bench/volume_file.h"

namespace rde::tools {
namespace {

struct Shape {
  std::uint32_t length = 0;
  std::uint32_t outstanding = 1;  // 1: a latency, against two one-way latencies; else a bandwidth
  bool skip_crc = true;
};

Result<void> add_reference(Bench& bench, const Shape& shape, Nanoseconds length, Round& round) {
  const bool one = shape.outstanding == 1;
  const auto figure = one ? ucx_am_latency(bench, shape.length, length) : ucx_am_bandwidth(bench, shape.length, length);
  if (figure) {
    round.reference.push_back(one ? 2 * *figure : *figure);
  } else if (figure.error().status == Status::not_supported) {
    round.note = figure.error().text;
  } else {
    return figure.error();
  }
  return {};
}

class ReadTcp final : public Measure {
 public:
  ReadTcp(Bench& bench, Shape shape) : bench_(bench), shape_(shape) {}

  Result<Round> round(Nanoseconds length) override {
    const auto& program = bench_.options().requester;
    if (program.empty()) return not_built("ring-bench-read");
    bench_.quiet();
    Round round;
    if (auto added = add_reference(bench_, shape_, length / 2, round); !added) return added.error();
    const auto storage = bench_.storage_engine();
    if (!storage) return storage.error();
    std::vector<std::string> words{program,
                                   "--peer",
                                   (*storage)->listen(),
                                   "--object",
                                   store_object(),
                                   "--size",
                                   std::to_string(kStoreObject),
                                   "--length",
                                   std::to_string(shape_.length),
                                   "--outstanding",
                                   std::to_string(shape_.outstanding),
                                   "--cpu",
                                   std::to_string(bench_.placement().client),
                                   "--milliseconds",
                                   std::to_string(length / kMillisecond)};
    if (shape_.skip_crc) words.emplace_back("--skip-crc");
    auto samples = run_sampler(bench_, std::move(words), length);
    if (!samples) return samples.error();
    round.samples = std::move((*samples)["samples"]);
    return round;
  }

 private:
  Bench& bench_;
  Shape shape_;
};

class ReadRing final : public Measure {
 public:
  ReadRing(Bench& bench, Shape shape) : bench_(bench), shape_(shape) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    Round round;
    if (auto added = add_reference(bench_, shape_, length / 2, round); !added) return added.error();
    const auto gateway = bench_.gateway_engine();
    if (!gateway) return gateway.error();
    if (!reads_) {
      auto attached =
          RingReads::attach((*gateway)->socket(),
                            {.length = shape_.length, .outstanding = shape_.outstanding, .skip_crc = shape_.skip_crc});
      if (!attached) return attached.error();
      reads_.emplace(std::move(*attached));
    }
    auto samples = shape_.outstanding == 1 ? reads_->latencies(length) : reads_->pace(length);
    if (!samples) return samples.error();
    round.samples = std::move(*samples);
    return round;
  }

 private:
  Bench& bench_;
  Shape shape_;
  std::optional<RingReads> reads_;
};

template <class M>
MeasureSpec spec(std::string_view name, std::string_view what, Shape shape, Aim aim) {
  const bool one = shape.outstanding == 1;
  return {.name = name,
          .unit = one ? "us" : "MiB/s",
          .what = what,
          .better = one ? Better::lower : Better::higher,
          .aim = aim,
          .make = [shape](Bench& bench) { return std::make_unique<M>(bench, shape); }};
}

constexpr std::uint32_t k4K = 4 << 10, k64K = 64 << 10, k1M = 1 << 20, k16M = 16 << 20;

}  // namespace

const MeasureSpec kRead4kTcp = spec<ReadTcp>("read_4k_tcp", "4 KiB from a storage engine, against two am_lat",
                                             {.length = k4K}, {Aim::ratio_at_most, 1});
const MeasureSpec kRead4kTcpCrc =
    spec<ReadTcp>("read_4k_tcp_crc", "the same, checked with CRC", {.length = k4K, .skip_crc = false}, {});
const MeasureSpec kRead4kRing =
    spec<ReadRing>("read_4k_ring", "the same through a ring: three processes", {.length = k4K}, {});
const MeasureSpec kRead64kTcp =
    spec<ReadTcp>("read_64k_tcp", "64 KiB reads, 4 at once, against ucp_am_bw", {.length = k64K, .outstanding = 4}, {});
const MeasureSpec kRead1mTcp = spec<ReadTcp>("read_1m_tcp", "1 MiB reads, 4 at once, against ucp_am_bw",
                                             {.length = k1M, .outstanding = 4}, {Aim::ratio_at_least, 0.9});
const MeasureSpec kRead1mTcpCrc = spec<ReadTcp>("read_1m_tcp_crc", "the same, checked with CRC",
                                                {.length = k1M, .outstanding = 4, .skip_crc = false}, {});
const MeasureSpec kRead1mRing =
    spec<ReadRing>("read_1m_ring", "the same through a ring: three processes", {.length = k1M, .outstanding = 4}, {});
const MeasureSpec kRead16mTcp =
    spec<ReadTcp>("read_16m_tcp", "16 MiB reads, 2 at once, against ucp_am_bw", {.length = k16M, .outstanding = 2}, {});

}  // namespace rde::tools
