#include "load/report.h"

#include <array>
#include <iomanip>
#include <utility>

#include "common/exit_code.h"

namespace rde::tools {
namespace {

constexpr std::array<std::pair<const char*, double>, 5> kPercentiles{
    {{"p50", 50}, {"p90", 90}, {"p99", 99}, {"p99.9", 99.9}, {"p99.99", 99.99}}};

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

nlohmann::ordered_json latency_json(const Tally::PerOp& op) {
  nlohmann::ordered_json json{{"done", op.latency.count()}, {"failed", op.failed}};
  auto& latency = json["latency_ns"];
  latency["min"] = op.latency.min();
  latency["mean"] = static_cast<std::uint64_t>(op.latency.mean());
  for (const auto& [name, percent] : kPercentiles) latency[name] = op.latency.percentile(percent);
  latency["max"] = op.latency.max();
  return json;
}

bool was_used(const Tally::PerOp& op) { return op.latency.count() + op.failed > 0; }

}  // namespace

int exit_code_of(const SessionResult& result, std::uint64_t allowed) {
  if (result.timed_out) return kTimedOut;
  const auto& tally = result.tally;
  return tally.wrong == 0 && tally.done() > 0 && tally.failed() <= allowed && result.troubles.empty() ? kGood
                                                                                                      : kCheckFailed;
}

nlohmann::ordered_json report_json(const LoadOptions& options, const SessionResult& result, int exit_code) {
  const auto& tally = result.tally;
  nlohmann::ordered_json json{{"ok", exit_code == kGood},
                              {"socket", options.socket},
                              {"processes", options.processes},
                              {"producers", options.producers},
                              {"depth", options.depth},
                              {"loop", options.rate > 0 ? "open" : "closed"},
                              {"rate", options.rate},
                              {"seconds", result.seconds},
                              {"done", tally.done()},
                              {"failed", tally.failed()},
                              {"errors", tally.errors},
                              {"done_per_second", per_second(tally.done(), result.seconds)},
                              {"requests", tally.requests},
                              {"not_sent", tally.not_sent},
                              {"bytes", tally.bytes},
                              {"bytes_verified", tally.bytes_verified},
                              {"bytes_per_second", per_second(tally.bytes_verified, result.seconds)},
                              {"objects_verified", tally.objects_verified},
                              {"wrong", tally.wrong},
                              {"engine_gone", tally.engine_gone},
                              {"reattached", tally.reattached},
                              {"timed_out", result.timed_out},
                              {"troubles", result.troubles}};
  json["ops"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < kOps; ++i) {
    if (was_used(tally.ops[i])) json["ops"][std::string(kOpNames[i])] = latency_json(tally.ops[i]);
  }
  return json;
}

void print_report(std::ostream& out, const LoadOptions& options, const SessionResult& result, int exit_code) {
  const auto& tally = result.tally;
  out << std::fixed << std::setprecision(1);
  out << tally.done() << " operations in " << result.seconds << " s (" << per_second(tally.done(), result.seconds)
      << "/s), " << tally.failed() << " failed\n";
  if (tally.objects_verified != 0) {
    out << tally.objects_verified << " objects, " << tally.bytes_verified << " bytes verified ("
        << per_second(tally.bytes_verified, result.seconds) / 1e6 << " MB/s)\n";
  }
  out << "latency, us " << std::setw(12) << "done" << std::setw(10) << "min";
  for (const auto& [name, percent] : kPercentiles) out << std::setw(10) << name;
  out << std::setw(10) << "max" << (options.rate > 0 ? "   (from the time it was due)" : "") << '\n';
  const auto micro = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; };
  for (std::size_t i = 0; i < kOps; ++i) {
    const auto& latency = tally.ops[i].latency;
    if (!was_used(tally.ops[i])) continue;
    out << std::setw(11) << std::left << kOpNames[i] << std::right << std::setw(13) << latency.count() << std::setw(10)
        << micro(latency.min());
    for (const auto& [name, percent] : kPercentiles) out << std::setw(10) << micro(latency.percentile(percent));
    out << std::setw(10) << micro(latency.max()) << '\n';
  }
  for (const auto& [name, count] : tally.errors) out << "error " << name << ": " << count << '\n';
  if (tally.not_sent != 0) out << tally.not_sent << " operations were due and found no free place; raise --depth\n";
  if (tally.engine_gone != 0) {
    out << "engine lost " << tally.engine_gone << " times, attached again " << tally.reattached << " times\n";
  }
  out << (exit_code == kGood ? "good: every byte was verified\n" : "FAILED\n");
}

void print_progress(std::ostream& out, const ProgressCount& now, const ProgressCount& before) {
  out << "ring-load: " << now.done - before.done << " op/s, " << (now.bytes - before.bytes) / 1'000'000 << " MB/s, "
      << now.failed << " failed\n";
}

}  // namespace rde::tools
