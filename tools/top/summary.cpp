#include "top/summary.h"

#include <algorithm>
#include <cstdio>

#include "attach/hello.h"
#include "common/names.h"

namespace rde::tools {
namespace {

std::uint64_t counter_of(const Snapshot& snapshot, std::string_view label) {
  for (const auto& counter : snapshot.counters) {
    if (get_text(counter.label) == label) return counter.value;
  }
  return 0;
}

// Counters of a hostile segment may go back.
double rate(std::uint64_t before, std::uint64_t now, double seconds) {
  return now > before ? static_cast<double>(now - before) / seconds : 0;
}

}  // namespace

ClientSummary summarize(const Snapshot& snapshot) {
  ClientSummary client{.number = snapshot.header.client_number,
                       .epoch = snapshot.header.epoch,
                       .pid = snapshot.header.client_pid,
                       .taken_ns = snapshot.taken_ns};
  if (snapshot.fault) {
    client.state = name_of(snapshot.fault->status);
    return client;
  }
  client.state = engine_state_name(snapshot.engine.state);
  client.lent = snapshot.client.lent_buffers;
  client.bytes = counter_of(snapshot, "bytes");
  client.failures = counter_of(snapshot, "failures");
  for (const auto& channel : snapshot.channels) {
    client.requests += channel.requests.written;
    client.completions += channel.completions.written;
    client.waiting += channel.requests.waiting;
    client.in_flight += channel.lines.in_flight;
    client.quarantined += channel.lines.quarantined;
    client.faulted_channels += channel.lines.state == RDE_CHANNEL_STATE_FAULTED ? 1 : 0;
  }
  for (const auto& bell : snapshot.doorbells) {
    if (bell.shard) client.sleeps += bell.sleeps;
    client.late_wakeups += bell.late_wakeups;
  }
  return client;
}

Rates rates_between(const ClientSummary& before, const ClientSummary& now) {
  if (before.number != now.number || before.epoch != now.epoch || now.taken_ns <= before.taken_ns) return {};
  const double seconds = static_cast<double>(now.taken_ns - before.taken_ns) / static_cast<double>(kSecond);
  return {.requests = rate(before.requests, now.requests, seconds),
          .completions = rate(before.completions, now.completions, seconds),
          .bytes = rate(before.bytes, now.bytes, seconds),
          .sleeps = rate(before.sleeps, now.sleeps, seconds)};
}

std::vector<Row> rows_between(const std::vector<ClientSummary>& before, std::vector<ClientSummary> now) {
  std::ranges::sort(now, {}, &ClientSummary::number);
  std::vector<Row> rows;
  for (auto& client : now) {
    const auto same = std::ranges::find_if(
        before, [&](const ClientSummary& old) { return old.number == client.number && old.epoch == client.epoch; });
    const auto rates = same == before.end() ? Rates{} : rates_between(*same, client);
    rows.push_back({std::move(client), rates});
  }
  return rows;
}

void print_rows(std::ostream& out, const std::vector<Row>& rows) {
  char line[256];
  std::snprintf(line, sizeof line, "%8s %8s %-9s %10s %10s %9s %8s %8s %6s %6s %9s %9s %5s\n", "client", "pid",
                "engine", "req/s", "compl/s", "MB/s", "waiting", "flight", "quar", "lent", "failures", "sleeps/s",
                "late");
  out << line;
  for (const auto& [client, rates] : rows) {
    std::snprintf(line, sizeof line, "%8llu %8u %-9.20s %10.0f %10.0f %9.1f %8llu %8llu %6llu %6llu %9llu %9.1f %5llu",
                  static_cast<unsigned long long>(client.number), client.pid, client.state.c_str(), rates.requests,
                  rates.completions, rates.bytes / 1e6, static_cast<unsigned long long>(client.waiting),
                  static_cast<unsigned long long>(client.in_flight),
                  static_cast<unsigned long long>(client.quarantined), static_cast<unsigned long long>(client.lent),
                  static_cast<unsigned long long>(client.failures), rates.sleeps,
                  static_cast<unsigned long long>(client.late_wakeups));
    out << line;
    if (client.faulted_channels != 0) out << "  " << client.faulted_channels << " channels faulted";
    out << '\n';
  }
  if (rows.empty()) out << "no client is attached\n";
}

nlohmann::ordered_json to_json(const std::vector<Row>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const auto& [client, rates] : rows) {
    all.push_back({{"client", client.number},
                   {"pid", client.pid},
                   {"epoch", hex(client.epoch, 16)},
                   {"engine", client.state},
                   {"requests_per_second", rates.requests},
                   {"completions_per_second", rates.completions},
                   {"bytes_per_second", rates.bytes},
                   {"waiting", client.waiting},
                   {"in_flight", client.in_flight},
                   {"quarantined", client.quarantined},
                   {"lent_buffers", client.lent},
                   {"failures", client.failures},
                   {"sleeps_per_second", rates.sleeps},
                   {"late_wakeups", client.late_wakeups},
                   {"faulted_channels", client.faulted_channels}});
  }
  return all;
}

}  // namespace rde::tools
