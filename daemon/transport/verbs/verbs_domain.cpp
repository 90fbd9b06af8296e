#include "transport/verbs/verbs_domain.h"

#include <cerrno>

#include "transport/verbs/verbs_device.h"

namespace rde {

Result<std::unique_ptr<VerbsDomain>> VerbsDomain::open(ibv_context* context) {
  auto domain = std::make_unique<VerbsDomain>();
  domain->domain_.reset(ibv_alloc_pd(context));
  if (!domain->domain_) return verbs_error(Status::resource_exhausted, "protection domain", errno);
  return domain;
}

Result<ibv_mr*> VerbsDomain::registered(OwnedRegistration& registration, const Memory& memory, unsigned access) {
  if (!registration) {
    const auto bytes = memory.bytes();
    registration.reset(ibv_reg_mr(domain_.get(), bytes.data(), bytes.size(), access));
  }
  if (registration) return registration.get();
  return verbs_error(Status::registration_failed,
                     "registering " + std::to_string(memory.bytes().size()) +
                         " bytes (LimitMEMLOCK or ulimit -l must allow as much for each peer)",
                     errno);
}

Result<ibv_mr*> VerbsDomain::for_landings(const Memory& memory) {
  return registered(memories_[&memory].landings, memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

Result<ibv_mr*> VerbsDomain::for_payloads(const Memory& memory) {
  return registered(memories_[&memory].payloads, memory, 0);
}

}  // namespace rde
