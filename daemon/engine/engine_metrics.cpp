// What the metrics endpoint of an engine shows.
#include "engine/engine.h"

namespace rde {
namespace {

struct ShardMetric {
  const char* name;
  const char* help;
  bool gauge;
  std::atomic<std::uint64_t> ShardStats::*member;
};

constexpr ShardMetric kShardMetrics[] = {
    {"requests_total", "Requests taken from rings", false, &ShardStats::requests},
    {"completions_total", "Completions written to rings", false, &ShardStats::completions},
    {"failures_total", "Completions with a status other than ok", false, &ShardStats::failures},
    {"ring_violations_total", "Channels faulted because their client broke a rule", false, &ShardStats::violations},
    {"bytes_read_total", "Object bytes delivered to clients", false, &ShardStats::bytes_read},
    {"deadlines_total", "Requests whose deadline passed", false, &ShardStats::deadlines},
    {"cancelled_total", "Requests cancelled by their client", false, &ShardStats::cancelled},
    {"operations", "Operations under way or quarantined", true, &ShardStats::operations},
    {"zombie_buffers", "Buffers that a late transfer may still write", true, &ShardStats::quarantined},
    {"zombie_bytes", "Bytes of those buffers", true, &ShardStats::quarantined_bytes},
    {"clients", "Attached clients", true, &ShardStats::clients},
    {"sleeps_total", "Times that the polling core blocked", false, &ShardStats::sleeps},
    {"late_wakeups_total", "Time-outs of a sleep that found work; a fault if not 0", false, &ShardStats::late_wakeups},
    {"wakeups_sent_total", "Wake-ups sent to sleeping clients", false, &ShardStats::wakeups_sent},
};

}  // namespace

std::vector<Metric> Engine::read_metrics() const {
  std::vector<Metric> metrics;
  for (const auto& shard : shards_) {
    for (const auto& row : kShardMetrics) {
      const auto value = (shard->stats().*row.member).load(std::memory_order_relaxed);
      metrics.push_back(
          {row.name, row.help, row.gauge, "shard", std::to_string(shard->options().index), static_cast<double>(value)});
    }
  }
  metrics.push_back(
      {"volumes", "Volumes of this engine", true, "", "", static_cast<double>(volumes_->served().size())});
  return metrics;
}

}  // namespace rde
