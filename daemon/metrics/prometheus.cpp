#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>

#include <map>

#include "metrics/metrics.h"

namespace rde {
namespace {

class Collector final : public prometheus::Collectable {
 public:
  explicit Collector(MetricsServer::Read read) : read_(std::move(read)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::map<std::string, prometheus::MetricFamily> families;
    for (const auto& metric : read_()) {
      auto& family = families[metric.name];
      family.name = "rde_" + metric.name;
      family.help = metric.help;
      family.type = metric.gauge ? prometheus::MetricType::Gauge : prometheus::MetricType::Counter;
      prometheus::ClientMetric value;
      if (!metric.label.empty()) value.label = {{metric.label, metric.label_value}};
      (metric.gauge ? value.gauge.value : value.counter.value) = metric.value;
      family.metric.push_back(std::move(value));
    }
    std::vector<prometheus::MetricFamily> list;
    for (auto& [name, family] : families) list.push_back(std::move(family));
    return list;
  }

 private:
  MetricsServer::Read read_;
};

// Each connection takes a thread as long as it is open, so one that says nothing must not stay.
std::vector<std::string> options_of(const HostPort& where) {
  return {"listening_ports",    where.text(), "num_threads",       "16",
          "request_timeout_ms", "1000",       "enable_keep_alive", "no"};
}

class PrometheusServer final : public MetricsServer {
 public:
  PrometheusServer(const HostPort& where, Read read)
      : collector_(std::make_shared<Collector>(std::move(read))), exposer_(options_of(where)) {
    exposer_.RegisterCollectable(collector_);
  }
  [[nodiscard]] std::uint16_t port() const override {
    return static_cast<std::uint16_t>(exposer_.GetListeningPorts().at(0));
  }

 private:
  std::shared_ptr<Collector> collector_;
  prometheus::Exposer exposer_;
};

}  // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const HostPort& where, Read read) {
  try {
    return std::unique_ptr<MetricsServer>(std::make_unique<PrometheusServer>(where, std::move(read)));
  } catch (const std::exception& error) {
    return Error{Status::system_error, "--metrics " + where.text() + ": " + error.what() + "; is the port taken?"};
  }
}

}  // namespace rde
