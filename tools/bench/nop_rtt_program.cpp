// nop_rtt_go: the same as nop_rtt_cpp, from the Go client, which runs as a program of its own.
#include <nlohmann/json.hpp>

#include "bench/bench.h"
#include "bench/measures.h"

namespace rde::tools {
namespace {

class NopRttGo final : public Measure {
 public:
  explicit NopRttGo(Bench& bench) : bench_(bench) {}

  Result<Round> round(Nanoseconds length) override {
    const auto& program = bench_.options().go_client;
    if (program.empty()) {
      return Error{Status::not_supported, "ring-bench-go is not built; ./run build makes it, --go-client names it"};
    }
    auto socket = bench_.engine_socket();
    if (!socket) return socket.error();
    Round round;
    round.reference = bench_.pingpong(length / 2);
    auto child = Child::start({program, "--socket", *socket, "--cpu", std::to_string(bench_.placement().client),
                               "--milliseconds", std::to_string(length / kMillisecond)},
                              *bench_.folder() + "/go.log");
    if (!child) return child.error();
    auto ended = (*child)->wait_for_end(length + 30 * kSecond);
    if (!ended) return ended.error().in(program);
    if (ended->code != 0) {
      return Error{Status::operation_failed, program + " exited with " + std::to_string(ended->code)};
    }
    const auto json = nlohmann::json::parse(ended->output, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("samples") || !json["samples"].is_array()) {
      return Error{Status::operation_failed, program + " did not print {\"samples\": [...]}"};
    }
    for (const auto& sample : json["samples"]) {
      if (sample.is_number()) round.samples.push_back(sample.get<double>());
    }
    return round;
  }

 private:
  Bench& bench_;
};

}  // namespace

const MeasureSpec kNopRttGo{.name = "nop_rtt_go",
                            .unit = "ns",
                            .what = "NOP round trip, Go client to engine",
                            .better = Better::lower,
                            .aim = {Aim::ratio_at_most, 1.8},
                            .make = [](Bench& bench) { return std::make_unique<NopRttGo>(bench); }};

}  // namespace rde::tools
