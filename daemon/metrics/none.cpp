#include "metrics/metrics.h"

namespace rde {

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(const HostPort& where, Read) {
  return Error{Status::not_supported, "--metrics " + where.text() + ": this engine was built without prometheus-cpp"};
}

}  // namespace rde
