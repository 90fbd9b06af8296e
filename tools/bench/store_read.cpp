// store_read_SIZE: reads of a volume of this engine, warm, against fio with io_uring, buffered, on the same file.
// store_read_cold: the same when the kernel has none of the file in memory, against the warm one.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "bench/measures.h"
#include "bench/ring_reads.h"
#include "bench/sampler.h"

namespace rde::tools {
namespace {

struct Shape {
  std::uint32_t length = 0;
  std::uint32_t outstanding = 8;
  bool skip_crc = true;  // fio checks nothing either
};

// It measures itself from its first moment on; in less time than this, that is mostly its start.
constexpr Nanoseconds kLeast = kSecond / 2;

// MiB a second of random reads. Errors: not_supported where fio is not installed.
Result<double> fio(Bench& bench, const std::string& file, const Shape& shape, Nanoseconds length) {
  const auto program = find_in_path("fio");
  if (program.empty()) return not_installed("fio", "fio");
  const auto output =
      run_program(bench,
                  {program, "--name=read", "--filename=" + file, "--readonly", "--rw=randread", "--ioengine=io_uring",
                   "--direct=0", "--invalidate=0", "--time_based", "--output-format=json",
                   "--bs=" + std::to_string(shape.length), "--iodepth=" + std::to_string(shape.outstanding),
                   "--runtime=" + std::to_string(std::max(length, kLeast) / kMillisecond) + "ms",
                   "--cpus_allowed=" + std::to_string(bench.placement().engine)},
                  length);
  if (!output) return output.error();
  const auto json = nlohmann::json::parse(output->substr(std::min(output->find('{'), output->size())), nullptr,
                                          /*allow_exceptions=*/false);
  const auto bytes = nlohmann::json::json_pointer("/jobs/0/read/bw_bytes");
  if (!json.is_object() || !json.contains(bytes) || !json[bytes].is_number()) {
    return Error{Status::operation_failed, "fio printed no bandwidth:\n" + output->substr(0, 1'000)};
  }
  return json[bytes].get<double>() / (1 << 20);
}

// Has the kernel forget a file that it has written.
Result<void> make_cold(const std::string& file) {
  const Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor || fdatasync(descriptor.get()) != 0) return system_error("make '" + file + "' cold", errno);
  if (const int code = posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_DONTNEED); code != 0) {
    return system_error("make '" + file + "' cold", code);
  }
  return {};
}

Result<EngineProcess*> store_engine(Bench& bench, const Bench::Store& store) {
  return bench.engine(
      {.name = "store",
       .arguments = {"--export", store.folder, "--poll", "spin", "--cores", std::to_string(bench.placement().engine)},
       .spins = true});
}

Result<RingReads> random_reads(const std::string& socket, const Shape& shape) {
  return RingReads::attach(
      socket, {.length = shape.length, .outstanding = shape.outstanding, .skip_crc = shape.skip_crc, .random = true});
}

class StoreRead final : public Measure {
 public:
  StoreRead(Bench& bench, Shape shape) : bench_(bench), shape_(shape) {}

  Result<Round> round(Nanoseconds length) override {
    bench_.quiet();
    const auto store = bench_.store();
    if (!store) return store.error();
    Round round;
    const auto reference = fio(bench_, store->file, shape_, length / 2);
    if (reference) {
      round.reference.push_back(*reference);
    } else if (reference.error().status == Status::not_supported) {
      round.note = reference.error().text;
    } else {
      return reference.error();
    }
    const auto engine = store_engine(bench_, *store);
    if (!engine) return engine.error();
    if (!reads_) {
      auto attached = random_reads((*engine)->socket(), shape_);
      if (!attached) return attached.error();
      reads_.emplace(std::move(*attached));
    }
    auto samples = reads_->pace(length);
    if (!samples) return samples.error();
    round.samples = std::move(*samples);
    return round;
  }

 private:
  Bench& bench_;
  Shape shape_;
  std::optional<RingReads> reads_;
};

class StoreReadCold final : public Measure {
 public:
  StoreReadCold(Bench& bench, Shape shape) : bench_(bench), shape_(shape) {}

  Result<Round> round(Nanoseconds length) override {
    const auto store = bench_.store();
    if (!store) return store.error();
    const auto engine = store_engine(bench_, *store);
    if (!engine) return engine.error();
    if (!reads_) {
      auto attached = random_reads((*engine)->socket(), shape_);
      if (!attached) return attached.error();
      reads_.emplace(std::move(*attached));
    }
    auto warm = reads_->pace(length / 2);
    if (!warm) return warm.error();
    if (auto made = make_cold(store->file); !made) return made.error();
    auto samples = reads_->pace(length);
    if (!samples) return samples.error();
    return Round{.samples = std::move(*samples), .reference = std::move(*warm)};
  }

 private:
  Bench& bench_;
  Shape shape_;
  std::optional<RingReads> reads_;
};

MeasureSpec spec(std::string_view name, std::string_view what, Shape shape, Aim aim) {
  return {
      .name = name, .unit = "MiB/s", .what = what, .better = Better::higher, .aim = aim, .make = [shape](Bench& bench) {
        return std::make_unique<StoreRead>(bench, shape);
      }};
}

constexpr std::uint32_t k64K = 64 << 10, k1M = 1 << 20;

}  // namespace

const MeasureSpec kStoreRead64k = spec("store_read_64k", "64 KiB of a local volume, 8 at once, against fio on its file",
                                       {.length = k64K}, {Aim::ratio_at_least, 0.9});
const MeasureSpec kStoreRead64kCrc =
    spec("store_read_64k_crc", "the same, checked with CRC", {.length = k64K, .skip_crc = false}, {});
const MeasureSpec kStoreReadCold{
    .name = "store_read_cold",
    .unit = "MiB/s",
    .what = "64 KiB of a local volume that is not in memory at first, 8 at once, against the same when it is",
    .better = Better::higher,
    .aim = {},
    .make = [](Bench& bench) { return std::make_unique<StoreReadCold>(bench, Shape{.length = k64K}); }};
const MeasureSpec kStoreRead1m = spec("store_read_1m", "1 MiB of a local volume, 4 at once, against fio on its file",
                                      {.length = k1M, .outstanding = 4}, {Aim::ratio_at_least, 0.9});
const MeasureSpec kStoreRead1mCrc =
    spec("store_read_1m_crc", "the same, checked with CRC", {.length = k1M, .outstanding = 4, .skip_crc = false}, {});

}  // namespace rde::tools
