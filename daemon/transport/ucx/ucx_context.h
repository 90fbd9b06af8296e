// A UCX context and its worker, set up for active messages over TCP.
//
//   auto device = interface_for(*resolve({"127.0.0.1", 18515}));   // "lo"
//   auto context = UcxContext::open({.devices = {*device}});
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/host_port.h"

namespace rde {

struct UcxOptions {
  // Network interfaces that links may use, those of the listen address and of the peers; empty: all.
  // UCX listens on each of them, on ports of its own.
  std::vector<std::string> devices;
  Nanoseconds connect_timeout = 5 * kSecond;
  Nanoseconds close_timeout = 500 * kMillisecond;  // for a polite end; then the link is cut
  std::uint32_t max_links = 1024;                  // more are refused
};

// The interface that traffic to `where` leaves by, or that has this local address. Errors name the
// address (invalid_address): a wildcard address belongs to no interface. Does not block.
Result<std::string> interface_for(const SocketAddress& where);

Error ucx_error(Status status, std::string_view what, ucs_status_t code);

// Marks every descriptor but the standard three close-on-exec: UCX opens its own without it, and what was inherited is
// nobody's.
void mark_descriptors_close_on_exec();

// Owner thread only. Endpoints, listeners and memory of it go before it does.
class UcxContext {
 public:
  static Result<std::unique_ptr<UcxContext>> open(const UcxOptions& options);
  ~UcxContext();
  UcxContext(const UcxContext&) = delete;
  UcxContext& operator=(const UcxContext&) = delete;

  [[nodiscard]] ucp_context_h context() const { return context_; }
  [[nodiscard]] ucp_worker_h worker() const { return worker_; }
  [[nodiscard]] int event_descriptor() const { return event_descriptor_; }

 private:
  UcxContext() = default;
  Result<void> open_context(const UcxOptions& options);
  Result<void> open_worker();

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_descriptor_ = -1;
};

}  // namespace rde
