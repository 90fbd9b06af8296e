// http_64k and http_4m: part of an object from the sidecar, against the same bytes of the same file from a plain HTTP
// server. One GET after another on a kept connection, by a program in Go.
#include "bench/measures.h"
#include "bench/ring_reads.h"
#include "bench/sampler.h"
#include "bench/volume_file.h"

namespace rde::tools {
namespace {

constexpr Nanoseconds kStart = 20 * kSecond;

class Http final : public Measure {
 public:
  Http(Bench& bench, std::uint64_t length) : bench_(bench), length_(length) {}

  Result<Round> round(Nanoseconds time) override {
    if (bench_.options().go_client.empty()) return not_built("ring-bench-go");
    if (bench_.options().sidecar.empty()) return not_built("rdma-sidecar");
    bench_.quiet();
    if (!sidecar_) {
      if (auto started = start(); !started) return started.error();
    }
    const std::string last = std::to_string(length_ - 1), plain_last = std::to_string(kStoreData + length_ - 1);
    auto reference =
        get({"--url", "http://" + plain_at_ + "/1.dat", "--range", std::to_string(kStoreData) + "-" + plain_last},
            time / 2);
    if (!reference) return reference.error();
    auto samples =
        get({"--url",
             "http://" + sidecar_at_ + "/read?file_id=" + store_object() + "&offset=0&size=" + std::to_string(length_),
             "--want", "X-Source=rdma"},
            time);
    if (!samples) return samples.error();
    return Round{.samples = std::move((*samples)["samples"]), .reference = std::move((*reference)["samples"])};
  }

 private:
  // Waits for its ready line; its address.
  Result<std::string> begin(std::unique_ptr<Child>& child, std::vector<std::string> words) {
    const std::string name = words.front(), log = *bench_.folder() + "/http.log";
    auto started = Child::start(std::move(words), log);
    if (!started) return started.error();
    const auto ready = (*started)->wait_for_line("ready ", kStart);
    if (!ready) {
      return Error{Status::operation_failed,
                   name + ": " + ready.error().text + "; its log ends in:\n" + end_of_file(log)};
    }
    child = std::move(*started);
    return value_in(*ready, "http=");
  }

  Result<void> start() {
    const auto store = bench_.store();
    if (!store) return store.error();
    const auto engine =
        bench_.engine({.name = "files",
                       .arguments = {"--export", store->folder, "--cores", std::to_string(bench_.placement().engine)}});
    if (!engine) return engine.error();
    auto plain = begin(plain_, {bench_.options().go_client, "--serve", store->folder});
    if (!plain) return plain.error();
    plain_at_ = std::move(*plain);
    auto sidecar =
        begin(sidecar_, {bench_.options().sidecar, "-p", "0", "-e", (*engine)->socket(), "-v", "http://" + plain_at_});
    if (!sidecar) return sidecar.error();
    sidecar_at_ = std::move(*sidecar);
    return {};
  }

  Result<Samples> get(std::vector<std::string> words, Nanoseconds time) {
    words.insert(words.begin(), bench_.options().go_client);
    words.insert(words.end(), {"--bytes", std::to_string(length_), "--patience", "10s", "--milliseconds",
                               std::to_string(time / kMillisecond)});
    return run_sampler(bench_, std::move(words), time);
  }

  Bench& bench_;
  std::uint64_t length_;
  std::unique_ptr<Child> plain_;
  std::unique_ptr<Child> sidecar_;
  std::string plain_at_;
  std::string sidecar_at_;
};

MeasureSpec spec(std::string_view name, std::string_view what, std::uint64_t length) {
  return {.name = name, .unit = "us", .what = what, .better = Better::lower, .aim = {}, .make = [length](Bench& bench) {
            return std::make_unique<Http>(bench, length);
          }};
}

}  // namespace

const MeasureSpec kHttp64k = spec("http_64k", "64 KiB from the sidecar, against a plain HTTP server", 64 << 10);
const MeasureSpec kHttp4m = spec("http_4m", "4 MiB from the sidecar, against a plain HTTP server", 4 << 20);

}  // namespace rde::tools
