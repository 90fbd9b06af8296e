// The Prometheus endpoint of an engine.
//
//   auto server = MetricsServer::open(address, [&] { return read_all(); });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/host_port.h"
#include "base/status.h"

namespace rde {

struct Metric {
  std::string name;  // without the prefix "rde_"
  std::string help;
  bool gauge = false;
  std::string label;  // "shard" or empty
  std::string label_value;
  double value = 0;
};

class MetricsServer {
 public:
  // Called on a thread of the server for each scrape; must be safe there.
  using Read = std::function<std::vector<Metric>()>;

  // Errors: not_supported (built without prometheus-cpp), system_error (the address cannot be bound).
  static Result<std::unique_ptr<MetricsServer>> open(const HostPort& where, Read read);
  virtual ~MetricsServer() = default;
  // The port that was bound.
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace rde
