// A protection domain for one peer, and what is registered in it. Kept when the connection breaks, so that the next
// one to the same peer registers nothing anew.
#pragma once

#include <memory>
#include <unordered_map>

#include "transport/transport.h"
#include "transport/verbs/verbs_handles.h"

namespace rde {

class VerbsMemory final : public Memory {
 public:
  explicit VerbsMemory(std::span<std::byte> bytes) : Memory(bytes) {}
};

// Owner thread only.
class VerbsDomain {
 public:
  static Result<std::unique_ptr<VerbsDomain>> open(ibv_context* context);

  [[nodiscard]] ibv_pd* get() const { return domain_.get(); }
  [[nodiscard]] ibv_context* context() const { return domain_->context; }

  // Registered at first use, once. The peer may write to what is registered for landings, and to nothing else.
  // registration_failed.
  Result<ibv_mr*> for_landings(const Memory& memory);
  Result<ibv_mr*> for_payloads(const Memory& memory);
  void forget(const Memory* memory) { memories_.erase(memory); }

 private:
  struct Entry {
    OwnedRegistration landings;
    OwnedRegistration payloads;
  };
  Result<ibv_mr*> registered(OwnedRegistration& registration, const Memory& memory, unsigned access);

  OwnedDomain domain_;
  std::unordered_map<const Memory*, Entry> memories_;
};

}  // namespace rde
