#include "capi/loans.h"

#include <string>

namespace rde::capi {

void Loans::add(const Buffer& buffer) {
  const std::lock_guard lock(mutex_);
  loans_[buffer.page] = Loan{.buffer = buffer};
}

Result<void> Loans::begin(std::uint32_t page, std::uint64_t length) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(page);
  if (found == loans_.end() || found->second.released) {
    return Error{Status::invalid_request, "buffer.page = " + std::to_string(page) + ": no buffer of this client"};
  }
  auto& loan = found->second;
  if (loan.in_use) {
    return Error{Status::invalid_request, "buffer.page = " + std::to_string(page) +
                                              ": another read uses it, or one that ended early may still write into "
                                              "it; release it and take another"};
  }
  if (length > loan.buffer.bytes.size()) {
    return Error{Status::buffer_too_small,
                 "length = " + std::to_string(length) + ": the buffer has " + std::to_string(loan.buffer.bytes.size())};
  }
  loan.in_use = true;
  return {};
}

void Loans::end(std::uint32_t page) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(page);
  if (found == loans_.end()) return;
  found->second.in_use = false;
  if (!found->second.released) return;
  client_.release(found->second.buffer);
  loans_.erase(found);
}

bool Loans::release(std::uint32_t page) {
  const std::lock_guard lock(mutex_);
  const auto found = loans_.find(page);
  if (found == loans_.end() || found->second.released) return false;
  if (found->second.in_use) {
    found->second.released = true;
    return true;
  }
  client_.release(found->second.buffer);
  loans_.erase(found);
  return true;
}

}  // namespace rde::capi
