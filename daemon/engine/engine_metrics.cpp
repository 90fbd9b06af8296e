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

struct SessionMetric {
  const char* name;
  const char* help;
  std::uint64_t SessionCounts::*member;
};

constexpr SessionMetric kSessionMetrics[] = {
    {"sessions_created_total", "Sessions opened", &SessionCounts::created},
    {"sessions_completed_total", "Sessions closed with success", &SessionCounts::completed},
    {"sessions_failed_total", "Sessions closed without", &SessionCounts::failed},
    {"sessions_expired_total", "Sessions whose time was over first", &SessionCounts::expired},
    {"sessions_ended_total", "Sessions whose client went first", &SessionCounts::ended},
    {"sessions_refused_total", "Sessions refused because --max-sessions were open", &SessionCounts::refused},
    {"session_bytes_total", "Object bytes that reads in sessions delivered", &SessionCounts::bytes},
};

void add_session_metrics(const SessionTable& sessions, std::vector<Metric>& metrics) {
  const SessionCounts counts = sessions.counts();
  for (const auto& row : kSessionMetrics)
    metrics.push_back({row.name, row.help, false, "", "", static_cast<double>(counts.*row.member)});
  metrics.push_back({"sessions_active", "Sessions that are open", true, "", "", static_cast<double>(sessions.live())});
  metrics.push_back({"sessions_max", "Sessions that may be open", true, "", "", static_cast<double>(sessions.most())});
  metrics.push_back(
      {"session_table_bytes", "Memory of the session table", true, "", "", static_cast<double>(counts.memory)});
}

void add_region_metrics(RegionTable& regions, std::vector<Metric>& metrics) {
  const auto add = [&](const char* name, const char* help, const std::atomic<std::uint64_t>& value) {
    metrics.push_back({name, help, false, "", "", static_cast<double>(value.load(std::memory_order_relaxed))});
  };
  const RegionCounts& counts = regions.counts();
  add("regions_exposed_total", "Regions exposed by clients", counts.exposed);
  add("regions_revoked_total", "Regions that their client revoked", counts.revoked);
  add("regions_expired_total", "Regions whose time was over first", counts.expired);
  add("regions_ended_total", "Regions whose client went first", counts.ended);
  add("regions_refused_total", "Regions refused because as many as may be were exposed", counts.refused);
  add("region_rejected_total", "Uses of regions with a token that did not allow them", counts.rejected);
  add("region_read_bytes_total", "Bytes read from regions of this engine's clients", counts.read_bytes);
  add("region_written_bytes_total", "Bytes written to regions of this engine's clients", counts.written_bytes);
  add("region_atomics_total", "Atomic operations on regions of this engine's clients", counts.atomics);
  metrics.push_back({"regions", "Regions that are exposed", true, "", "", static_cast<double>(regions.live())});
}

void add_ipc_metrics(const compat::IpcStats& stats, std::vector<Metric>& metrics) {
  const auto add = [&](const char* name, const char* help, bool gauge, const std::atomic<std::uint64_t>& value) {
    metrics.push_back({name, help, gauge, "", "", static_cast<double>(value.load(std::memory_order_relaxed))});
  };
  add("ipc_connections", "Connections to the older socket", true, stats.connections);
  add("ipc_accepted_total", "Connections to the older socket that were let in", false, stats.accepted);
  add("ipc_refused_total", "Connections to the older socket that were refused", false, stats.refused);
  add("ipc_requests_total", "Requests of the older protocol", false, stats.requests);
  add("ipc_failures_total", "Requests of the older protocol that were answered with an error", false, stats.failures);
}

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
  add_session_metrics(*sessions_, metrics);
  add_region_metrics(*regions_, metrics);
  if (ipc_door_) add_ipc_metrics(ipc_door_->stats(), metrics);
  return metrics;
}

}  // namespace rde
