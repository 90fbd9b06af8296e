// One line for each attached client: what it did since the last look.
//
//   Summary before = summarize(first), now = summarize(second);
//   Rates rates = rates_between(before, now);
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "dump/snapshot.h"

namespace rde::tools {

struct ClientSummary {
  std::uint64_t number = 0;
  std::uint64_t epoch = 0;
  std::uint32_t pid = 0;
  std::string state;               // of its engine; or why it cannot be read
  Nanoseconds taken_ns = 0;        // CLOCK_MONOTONIC
  std::uint64_t requests = 0;      // written, on all channels
  std::uint64_t completions = 0;   // written
  std::uint64_t waiting = 0;       // requests that the engine has not taken
  std::uint64_t in_flight = 0;     // operations
  std::uint64_t quarantined = 0;   // buffers
  std::uint64_t lent = 0;          // buffers
  std::uint64_t bytes = 0;         // engine's counter
  std::uint64_t failures = 0;      // engine's counter
  std::uint64_t sleeps = 0;        // of all shards, for this client
  std::uint64_t late_wakeups = 0;  // of all readers; must stay 0
  std::uint64_t faulted_channels = 0;
};

ClientSummary summarize(const Snapshot& snapshot);

// Per second, from one look to the next; all 0 where they are not of the same attachment.
struct Rates {
  double requests = 0;
  double completions = 0;
  double bytes = 0;
  double sleeps = 0;
};
Rates rates_between(const ClientSummary& before, const ClientSummary& now);

struct Row {
  ClientSummary client;
  Rates rates;
};
// Rows of all that are there now, in the order of their numbers.
std::vector<Row> rows_between(const std::vector<ClientSummary>& before, std::vector<ClientSummary> now);

void print_rows(std::ostream& out, const std::vector<Row>& rows);
nlohmann::ordered_json to_json(const std::vector<Row>& rows);

}  // namespace rde::tools
